#include "resolver/stacks/loongforge/adapters.h"

#include <iterator>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "resolver/plan/knob.h"
#include "resolver/read/hydra_value.h"

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

// A model of several parts has them below its map, where they adapt the foundation.
std::vector<std::string> LoongForgeAdapterWords(const LoongForgeModel* file, const Config& config,
                                                std::vector<Knob>* unspelled) {
  std::vector<std::string> words;
  const bool parts = file != nullptr && !file->foundation.empty();
  const std::string package = parts ? "model.peft_config." : "peft_config.";
  const auto write = [&](absl::string_view field, const Value& value) {
    const std::string key = absl::StrCat(package, field);
    if (file != nullptr) {
      const auto said = file->keys.find(key);
      if (said != file->keys.end() && said->second == value) return;
    }
    words.push_back(absl::StrCat("++", key, "=", WriteHydraValue(value)));
  };
  const Value& scheme = config.Get(K::peft_scheme);
  const bool known = scheme == Value("lora") || (parts && scheme == Value("vlm_lora"));
  if (known) {
    write("_target_",
          Value(absl::StrCat("loongforge.models.common.peft.lora_config.", parts ? "VLMLoraConfig" : "LoraConfig")));
    if (parts) write("apply_to_foundation", Value(true));
  }
  config.ForEachNotDefault([&](K knob) {
    if (Row(knob).section != Section::kPeft || !config.Given(knob) || (knob == K::peft_scheme && known)) return;
    if (config.Get(knob) == Value("none")) return;  // there are none
    const auto* const field = absl::c_find_if(kFields, [knob](const auto& one) { return one.second == knob; });
    if (field == std::end(kFields) || knob == K::peft_exclude_modules) return unspelled->push_back(knob);
    write(field->first, config.Get(knob));
  });
  return words;
}

}  // namespace flightplan
