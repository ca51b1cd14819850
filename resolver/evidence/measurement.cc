#include "resolver/evidence/measurement.h"

#include "absl/strings/str_cat.h"

namespace flightplan {

std::string ModelClass(const ModelSpec& model) {
  std::string text = model.is_moe()
                         ? absl::StrCat("moe e", model.num_moe_experts.value_or(0), " k",
                                        model.moe_router_topk.value_or(0), " f", model.moe_ffn_hidden_size.value_or(0))
                         : absl::StrCat("dense f", model.ffn_hidden_size.value_or(0));
  absl::StrAppend(&text, " h", model.hidden_size, " ", model.attention);
  if (model.moe_shared_expert_intermediate_size.value_or(0) > 0) text += " shared";
  return text;
}

}  // namespace flightplan
