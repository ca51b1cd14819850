#include "resolver/stacks/loongforge/model_classes.h"

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "resolver/catalog/spellings.h"

namespace flightplan {
namespace {

using K = Knob;

constexpr absl::string_view kBuild = "LoongForge:loongforge/models/utils.py:157";
constexpr absl::string_view kTarget = "_target_";
// Of whose flat file the keys are handed on as they are, and no class is built (loongforge/models/utils.py:127).
constexpr absl::string_view kUnbuilt[] = {"wan2_1_i2v", "wan2_2_i2v", "qwen_image"};

// The flag of the argument that a key means, or that its field is copied from; null: there is none.
const internal::FlagRow* FlagOf(absl::string_view key) {
  std::optional<K> knob = LoongForgeKey(key);
  for (const auto& [field, argument] : CopiedArguments()) {
    if (field == knob) knob = argument;
  }
  return knob.has_value() ? FirstFlag(*knob, kLoongForgeCore) : nullptr;
}

class ClassCheck {
 public:
  ClassCheck(const ComposedModel& model, std::vector<ParseFinding>* findings) : model_(model), findings_(findings) {}

  void Run(absl::Span<const ParsedKnob> words) {
    for (const auto& [name, key] : model_.keys) CheckKey(name, key);
    if (!model_.file.keys.contains("model_type")) {
      if (model_.keys.contains("model.model_type") && !model_.keys.contains("model.foundation._target_")) {
        KeepFinding(MakeParseFinding(model_.named, "lf.model-type-known", Severity::kError, "model.foundation unset",
                                     "a model of several components has a language model, and its class, at this key",
                                     "LoongForge:loongforge/train/parser.py:229"),
                    findings_);
      }
    } else if (!Unbuilt("") && !model_.keys.contains(kTarget)) {
      Report(model_.named, "_target_ unset", "the model's file must say its class");
    }
    NoteLatentAttention(words);
    for (const std::string& name : model_.file.gone) {
      Report(model_.named, name, "this revision of LoongForge has no such class");
    }
  }

 private:
  // `word`: what the launch itself writes, which stands whatever else is known of it.
  void Report(SourcePosition at, std::string seen, std::string needs, Value word = {},
              Severity severity = Severity::kError) {
    ParseFinding found = MakeParseFinding(at, "lf.config-class", severity, std::move(seen), std::move(needs), kBuild);
    if (!word.is_none())
      found.finding.observed.push_back({found.finding.seen.substr(0, found.finding.seen.find('=')), std::move(word)});
    KeepFinding(std::move(found), findings_);
  }

  bool Unbuilt(absl::string_view map) const {
    const auto type = model_.keys.find("model_type");
    return map.empty() && type != model_.keys.end() && absl::c_linear_search(kUnbuilt, type->second.value.text());
  }

  // The class is that of the innermost map around the key that builds one.
  void CheckKey(absl::string_view name, const ModelKey& key) {
    if (!model_.own && !key.written) return;
    for (size_t end = name.size(); end != absl::string_view::npos;) {
      const size_t dot = name.substr(0, end).rfind('.');
      const absl::string_view map = name.substr(0, dot + 1);  // npos + 1: nothing
      const auto target = model_.keys.find(absl::StrCat(map, kTarget));
      if (Unbuilt(map)) return;
      if (target != model_.keys.end() && target->second.value.is_text()) {
        return CheckField(map, name.substr(map.size(), end - map.size()), target->second.value.text(), key);
      }
      end = dot;
    }
  }

  void CheckField(absl::string_view map, absl::string_view field, absl::string_view target, const ModelKey& key) {
    if (key.written && model_.file.keys.contains(absl::StrCat(map, field)) && field != kTarget) return;
    const bool unknown = field == kTarget && key.written && !LoongForgeHasClass(target);
    if (!unknown && (absl::StartsWith(field, "_") || field == "model_type" || LoongForgeClassTakes(target, field)))
      return;
    const internal::FlagRow* const flag = FlagOf(field);
    std::string needs =
        unknown ? "no model file of LoongForge builds this class: the launch stops where it cannot import it"
                : absl::StrCat(target.substr(target.rfind('.') + 1), " has no field of this name",
                               flag == nullptr ? "" : "; it is an argument: ", flag == nullptr ? "" : flag->flag);
    Report(key.at, Printable(unknown ? target : field), std::move(needs),
           key.written ? Value(Printable(key.value.ToText())) : Value(),
           unknown ? Severity::kWarning : Severity::kError);
  }

  // It brings the fields of MLATransformerConfig to every class that is built with it.
  void NoteLatentAttention(absl::Span<const ParsedKnob> words) {
    ModelKey flag;
    for (const ParsedKnob& word : words) {
      if (word.knob == K::multi_latent_attention) flag = {word.value, word.at, true};
    }
    for (const auto& [name, target] : model_.keys) {
      absl::string_view map = name;
      if (!absl::ConsumeSuffix(&map, kTarget) || !target.value.is_text() || Unbuilt(map)) continue;
      const absl::string_view built = target.value.text();
      const auto own = model_.keys.find(absl::StrCat(map, Name(K::multi_latent_attention)));
      const ModelKey& said = own == model_.keys.end() ? flag : own->second;
      if (!said.value.truthy() || !LoongForgeClassLacksMla(built)) continue;
      return Report(said.at, "multi_latent_attention=true",
                    absl::StrCat(built.substr(built.rfind('.') + 1), " is no class for latent attention: leave it out"),
                    said.value);
    }
  }

  const ComposedModel& model_;
  std::vector<ParseFinding>* const findings_;
};

}  // namespace

void CheckModelClasses(const ComposedModel& model, absl::Span<const ParsedKnob> words,
                       std::vector<ParseFinding>* findings) {
  ClassCheck(model, findings).Run(words);
}

}  // namespace flightplan
