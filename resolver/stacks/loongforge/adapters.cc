#include "resolver/stacks/loongforge/adapters.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace flightplan {
namespace {

using K = Knob;

// Its fields, whose defaults are those of the knobs.
constexpr std::pair<absl::string_view, K> kFields[] = {{"dim", K::peft_dim},
                                                       {"alpha", K::peft_alpha},
                                                       {"dropout", K::peft_dropout},
                                                       {"target_modules", K::peft_target_modules},
                                                       {"exclude_modules", K::peft_exclude_modules}};

// The schemes by the ends of their classes' names, the longest first.
constexpr std::pair<absl::string_view, absl::string_view> kSchemes[] = {
    {".VLMLoraConfig", "vlm_lora"}, {".CanonicalLoraConfig", "canonical_lora"}, {".LoraConfig", "lora"}};

}  // namespace

void TakeLoongForgeAdapters(const LoongForgeKeys& keys, ParseResult* out) {
  for (const absl::string_view package : {"peft_config.", "model.peft_config."}) {
    const LoongForgeValueAt target = keys(absl::StrCat(package, "_target_"));
    if (target.value == nullptr || !target.value->is_text()) continue;
    absl::string_view scheme;
    for (const auto& [end, name] : kSchemes) {
      if (scheme.empty() && absl::EndsWith(target.value->text(), end)) scheme = name;
    }
    if (scheme.empty()) {
      out->others.not_modelled = absl::StrCat("adapters of ", Printable(target.value->text()));
      return;
    }
    out->knobs.push_back({K::peft_scheme, Value(scheme), target.at, Origin::kModel});
    for (const auto& [field, knob] : kFields) {
      const LoongForgeValueAt found = keys(absl::StrCat(package, field));
      if (found.value != nullptr) out->knobs.push_back({knob, *found.value, found.at, Origin::kModel});
    }
    return;
  }
}

}  // namespace flightplan
