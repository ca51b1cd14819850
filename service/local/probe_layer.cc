#include "service/local/probe_layer.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "resolver/normalize/layout_message.h"
#include "resolver/normalize/model_reference.h"
#include "resolver/normalize/request_bounds.h"

namespace flightplan::service {
namespace {

constexpr int64_t kSeqLength = 4096;  // where the request gives none
constexpr int64_t kRanks = 8;         // likewise: a node

int64_t RanksFor(const LayoutWish& layout, int64_t experts) {
  if (layout.expert_model_parallel_size.has_value()) return *layout.expert_model_parallel_size;
  int64_t ranks = kRanks;
  while (ranks > 1 && experts % ranks != 0) --ranks;
  return ranks;
}

// A whole number of parts, or a violation.
int64_t Share(int64_t whole, int64_t parts, absl::string_view field, absl::string_view of, Violations* violations) {
  if (parts < 1 || whole % parts == 0) return whole / std::max<int64_t>(parts, 1);
  violations->Add(field, absl::StrCat(parts, " must divide ", of, " ", whole));
  return whole;
}

}  // namespace

std::string ProbedLayer(const v1::RunProbeRequest& request, const Catalog& catalog, Violations* violations) {
  if (!request.has_model()) {
    if (request.has_layout() || request.has_seq_length())
      violations->Add("model", "is required beside layout and seq_length, which say what one rank has of it");
    return "";
  }
  const ModelSpec model = ModelFromReference(request.model(), catalog, nullptr, violations);
  const LayoutWish layout = LayoutFromMessage(request.layout(), violations);
  const int64_t seq = request.has_seq_length() ? request.seq_length() : kSeqLength;
  if (seq < 1 || seq > kMaxSeqLength)
    violations->Add("seq_length", absl::StrCat("must be 1..", kMaxSeqLength, ", not ", seq));
  if (!violations->empty()) return "";
  if (!model.is_moe()) {
    violations->Add("model", absl::StrCat(model.name, " has no experts"));
    return "";
  }
  // With TP the sequence is cut along it, too, for all that is not attention; heads are cut instead there, which leaves
  // a rank as many FLOPs as whole heads over its own tokens.
  const int64_t cut = layout.context_parallel_size.value_or(1) * layout.tensor_model_parallel_size.value_or(1);
  const int64_t tokens = Share(seq * layout.micro_batch_size.value_or(1), cut, "layout",
                               "the tokens of a microbatch, which CP times TP cut,", violations);
  const int64_t experts = *model.num_moe_experts, ranks = RanksFor(layout, experts);
  Share(experts, ranks, "layout.expert_model_parallel_size", "the number of experts,", violations);
  const int64_t ffn = Share(model.moe_ffn_hidden_size.value_or(0), layout.expert_tensor_parallel_size.value_or(1),
                            "layout.expert_tensor_parallel_size", "an expert's width,", violations);
  if (ranks < 2)
    violations->Add("layout.expert_model_parallel_size", "must be 2 or more: experts of one rank exchange nothing");
  std::string text = absl::StrCat("tokens=", tokens, ",hidden=", model.moe_latent_size.value_or(model.hidden_size),
                                  ",experts=", experts, ",topk=", model.moe_router_topk.value_or(0), ",ffn=", ffn,
                                  ",ranks=", ranks, ",sequence=", seq);
  // With latent attention keys and values are no heads of their own.
  if (!model.kv_lora_rank.has_value() && model.num_attention_heads > 0 && model.num_query_groups > 0) {
    const int64_t width = model.kv_channels.value_or(model.hidden_size / model.num_attention_heads);
    absl::StrAppend(&text, ",heads=", model.num_attention_heads, ",kv_heads=", model.num_query_groups,
                    ",head_dim=", width);
  }
  return text;
}

}  // namespace flightplan::service
