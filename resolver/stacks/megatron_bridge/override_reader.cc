#include "resolver/stacks/megatron_bridge/override_reader.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "resolver/base/nearest.h"
#include "resolver/catalog/bridge_fields.h"
#include "resolver/read/hydra_value.h"
#include "resolver/stacks/number_fault.h"

namespace flightplan {
namespace {

using K = Knob;

// Sections of the container that hold nothing our rules look at: their fields are taken as they are.
constexpr std::array<absl::string_view, 14> kOpaqueSections = {"checkpoint",
                                                               "logger",
                                                               "tokenizer",
                                                               "scheduler",
                                                               "profiling",
                                                               "validation",
                                                               "peft",
                                                               "ft",
                                                               "straggler",
                                                               "dataset",
                                                               "nvrx_straggler",
                                                               "tensor_inspect",
                                                               "inprocess_restart",
                                                               "optimizer_config_override_provider"};
constexpr std::array<absl::string_view, 9> kKnownSections = {
    "model", "ddp", "optimizer", "train", "dist", "rng", "rerun_state_machine", "mixed_precision", "comm_overlap"};

constexpr absl::string_view kParser = "Megatron-Bridge:src/megatron/bridge/training/utils/omegaconf_utils.py:183";
constexpr absl::string_view kAssigned = "Megatron-Bridge:src/megatron/bridge/training/utils/omegaconf_utils.py:515";

template <size_t N>
bool Contains(const std::array<absl::string_view, N>& names, absl::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

ParseFinding Fault(const SourcePosition& at, Severity severity, absl::string_view id, std::string seen,
                   std::string needs) {
  return MakeParseFinding(at, id, severity, std::move(seen), std::move(needs), kParser);
}

// Bridge takes several spellings of a dtype and of an activation function; the knobs know one.
Value Canonical(K knob, Value value) {
  if (!value.is_text()) return value;
  absl::string_view text = value.text();
  if (absl::EndsWith(FieldNameOf(knob), "dtype")) {
    absl::ConsumePrefix(&text, "torch.");
    for (const auto& [name, all] : {std::pair<const char*, const char*>{"bf16", "bf16|bfloat16|bf16-mixed"},
                                    {"fp16", "fp16|float16|16-mixed"},
                                    {"fp32", "fp32|float32|32-true"}}) {
      for (absl::string_view spelling : absl::StrSplit(all, '|')) {
        if (spelling == text) return Value(name);
      }
    }
  }
  if (knob == K::activation_func && absl::ConsumePrefix(&text, "torch.nn.functional.")) return Value(text);
  return value;
}

// ${model.seq_length}, ???: OmegaConf puts something else there.
bool StandsForAnother(const Value& value) {
  return value.is_text() && (absl::StrContains(value.text(), "${") || value.text() == "???");
}

}  // namespace

bool OverrideReader::KnowsSection(absl::string_view section) {
  return Contains(kKnownSections, section) || Contains(kOpaqueSections, section);
}

bool OverrideReader::LooksInside(absl::string_view section) { return Contains(kKnownSections, section); }

std::vector<absl::string_view> OverrideReader::Sections() {
  std::vector<absl::string_view> names(kKnownSections.begin(), kKnownSections.end());
  names.insert(names.end(), kOpaqueSections.begin(), kOpaqueSections.end());
  return names;
}

std::string OverrideReader::UnknownSection(absl::string_view section) {
  const absl::string_view nearest = NearestName(section, Sections());
  return absl::StrCat("the config container has no section ", Printable(section),
                      nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?"));
}

absl::string_view OverrideReader::NearestField(absl::string_view section, absl::string_view field) {
  static const auto* const kFields = [] {
    auto* fields = new std::map<absl::string_view, std::vector<absl::string_view>>();
    for (int i = 0; i < kKnobCount; ++i) {
      const K knob = static_cast<K>(i);
      (*fields)[BridgeSectionOf(knob)].push_back(FieldNameOf(knob));
    }
    return fields;
  }();
  const auto fields = kFields->find(section);
  return fields == kFields->end() ? absl::string_view() : NearestName(field, fields->second);
}

void OverrideReader::Read(const Argument& argument) {
  absl::string_view text = argument.text;
  if (text.size() > kMaxArgumentBytes) {
    return Refuse(argument, "input.limit", Printable(text), absl::StrCat("at most ", kMaxArgumentBytes, " bytes"));
  }
  if (absl::ConsumePrefix(&text, "~")) {
    return Refuse(argument, kUnreadable, Printable(argument.text), "a deletion has no meaning for a config class");
  }
  if (!absl::ConsumePrefix(&text, "++")) absl::ConsumePrefix(&text, "+");
  const size_t equals = text.find('=');
  if (argument.unknown && equals == absl::string_view::npos) return;  // any words, or none
  if (equals == absl::string_view::npos || equals == 0) {
    return Refuse(argument, kUnreadable, Printable(argument.text), "an override is section.field=value");
  }
  const absl::string_view key = text.substr(0, equals);
  if (argument.unknown) return ReadUnknown(key);
  const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(key, absl::MaxSplits('.', 1));
  // No knob is a dict, nor is a variable; other fields of the container are, and nothing looks into them.
  const bool knob = parts.first == "env_vars" || FindBridgeField(parts.first, parts.second).has_value();
  const HydraDicts dicts = knob || parts.second.empty() ? HydraDicts::kRefused : HydraDicts::kAsText;
  const absl::StatusOr<Value> value = ReadHydraValue(text.substr(equals + 1), dicts);
  if (!value.ok()) {
    return Refuse(argument, kUnreadable, Printable(argument.text), std::string(value.status().message()));
  }
  if (parts.second.empty()) return ReadSection(argument, parts.first, *value);
  ReadField(argument, parts.first, parts.second, *value);
}

// `model.expert_model_parallel_size=$EP`: of which field it is, if that is written out, and no more.
void OverrideReader::ReadUnknown(absl::string_view key) {
  const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(key, absl::MaxSplits('.', 1));
  if (const std::optional<K> knob = FindBridgeField(parts.first, parts.second)) MarkUnknown(*knob);
  if (key == "mixed_precision") MarkUnknown(K::mixed_precision_recipe);
  if (key == "peft") MarkUnknown(K::peft_scheme);
  if (key == "comm_overlap") MarkUnknown(K::comm_overlap_configured);
}

// `mixed_precision=bf16_mixed`, `comm_overlap=null`.
void OverrideReader::ReadSection(const Argument& argument, absl::string_view section, const Value& value) {
  NoteText(argument, std::nullopt, value);
  if (section == "mixed_precision") {
    Keep(K::mixed_precision_configured, Value(!value.is_none()), argument.at);
    Keep(K::mixed_precision_recipe, value, argument.at);
  } else if (section == "peft" && value.is_none()) {
    Keep(K::peft_scheme, Value("none"), argument.at);
  } else if (section == "comm_overlap" && value.is_none()) {
    Keep(K::comm_overlap_configured, Value(false), argument.at);
  } else if (!Contains(kOpaqueSections, section) || !value.is_none()) {
    Refuse(argument, kUnreadable, Printable(argument.text),
           value.is_none() && Contains(kKnownSections, section)
               ? absl::StrCat("null takes the whole section away, which training needs: leave ", section,
                              " out, or write its fields")
               : "an override names a field: section.field=value");
  }
}

void OverrideReader::ReadField(const Argument& argument, absl::string_view section, absl::string_view field,
                               const Value& value) {
  if (section == "env_vars") return ReadVariable(argument, field, value);
  const std::optional<K> knob = FindBridgeField(section, field);
  NoteText(argument, knob, value);
  if (section == "dataset" && field == "offline_packing_specs") {  // an object, or none
    return Keep(K::dataset_offline_packing_specs, Value(!value.is_none()), argument.at);
  }
  if (field == "_target_" && section == "peft") return KeepAdapters(value.text(), argument.at);
  if (field == "_target_") return ReadClass(argument, section);
  if (!knob.has_value()) return Unknown(argument, section, field);
  if (!Row(*knob).bridge.Contains(release_)) {
    return Refuse(argument, kUnknown, Printable(argument.text),
                  absl::StrCat("Bridge 0.", release_, " has no ", section, ".", field));
  }
  if (section == "dataset" && absl::StartsWith(field, "offline_packing_specs.")) {
    Keep(K::dataset_offline_packing_specs, Value(true), argument.at);
  }
  Value kept = Canonical(*knob, value);
  if (StandsForAnother(kept)) return MarkUnknown(*knob);
  if (Row(*knob).type == ValueType::kBool && !kept.is_none() && !kept.is_int()) kept = Value(kept.truthy());
  if (const std::optional<NumberFault> fault = FindNumberFault(*knob, NumberReader::kBridge, &kept)) {
    KeepFinding(NumberFinding(*fault, *knob, argument.at, kUnreadable, kAssigned, Printable(argument.text),
                              absl::StrCat(section, ".", field)),
                &out_->findings);
    if (kept.is_none()) return MarkUnknown(*knob);
  }
  Keep(*knob, std::move(kept), argument.at);
}

// Text where a person meant none, or a switch. Of a number it is a fault of its own.
void OverrideReader::NoteText(const Argument& argument, std::optional<K> knob, const Value& value) {
  if ((knob.has_value() && HoldsNumbers(*knob)) || StandsForAnother(value)) return;
  const bool none = value == Value("None");
  const bool odd = knob.has_value() && Row(*knob).type == ValueType::kBool && !value.is_none() && !value.is_bool() &&
                   !value.is_int();
  if (!none && !odd) return;
  KeepFinding(
      Fault(argument.at, Severity::kWarning, none ? "bridge-override.none-is-text" : "bridge-override.no-switch",
            Printable(argument.text),
            none ? "None is text in an override; null means unset"
                 : absl::StrCat("a switch is true or false; this counts as ", value.truthy() ? "true" : "false")),
      &out_->findings);
}

// A default for the process environment, which holds text.
void OverrideReader::ReadVariable(const Argument& argument, absl::string_view name, const Value& value) {
  constexpr int kFirstWithVariables = 6;
  if (release_ < kFirstWithVariables) {
    return Refuse(argument, kUnknown, Printable(argument.text),
                  absl::StrCat("Bridge 0.", release_, " has no section env_vars: export the variable instead"));
  }
  if (value.is_none() || value.is_list()) {
    return KeepFinding(MakeParseFinding(argument.at, "env.vars-scalar", Severity::kError, Printable(argument.text),
                                        absl::StrCat("env_vars.", Printable(name),
                                                     " is text, a number or a switch; a variable that shall stay "
                                                     "unset is left out"),
                                        "Megatron-Bridge:src/megatron/bridge/training/config.py:1988"),
                       &out_->findings);
  }
  out_->recipe_vars[std::string(name)] = value.is_text() ? std::string(value.text()) : value.ToText();
}

// ++comm_overlap._target_=megatron.bridge.training.comm_overlap.CommOverlapConfig makes the object.
void OverrideReader::ReadClass(const Argument& argument, absl::string_view section) {
  if (section == "comm_overlap") return Keep(K::comm_overlap_configured, Value(true), argument.at);
  if (section == "mixed_precision") return Keep(K::mixed_precision_configured, Value(true), argument.at);
  if (!KnowsSection(section)) Refuse(argument, kUnknown, Printable(argument.text), UnknownSection(section));
}

void OverrideReader::KeepAdapters(absl::string_view target, const SourcePosition& at) {
  static constexpr std::pair<absl::string_view, absl::string_view> kSchemes[] = {
      {"LoRA", "lora"}, {"DoRA", "dora"}, {"CanonicalLoRA", "canonical_lora"}, {"VLMLoRA", "vlm_lora"}};
  const absl::string_view name = target.substr(target.rfind('.') + 1);
  for (const auto& [class_name, scheme] : kSchemes) {
    if (name == class_name) return Keep(K::peft_scheme, Value(scheme), at);
  }
  Keep(K::peft_scheme, Value(name), at);  // a class of the caller's own
}

void OverrideReader::Unknown(const Argument& argument, absl::string_view section, absl::string_view field) {
  if (Contains(kOpaqueSections, section)) return;
  if (!Contains(kKnownSections, section)) {
    return Refuse(argument, kUnknown, Printable(argument.text), UnknownSection(section));
  }
  const absl::string_view nearest = NearestField(section, field);
  // Without a near name it may be a field of a model provider that we do not know.
  const Severity severity = nearest.empty() ? Severity::kWarning : Severity::kError;
  KeepFinding(Fault(argument.at, severity, kUnknown, Printable(argument.text),
                    nearest.empty() ? "no field of that name is known"
                                    : absl::StrCat("did you mean ", section, ".", nearest, "?")),
              &out_->findings);
}

void OverrideReader::Keep(K knob, Value value, const SourcePosition& at) {
  std::vector<K>& unknown = out_->unknown;
  if (!unknown.empty()) unknown.erase(std::remove(unknown.begin(), unknown.end(), knob), unknown.end());
  out_->knobs.push_back({knob, std::move(value), at});
}

void OverrideReader::MarkUnknown(K knob) {
  std::vector<K>& unknown = out_->unknown;
  if (std::find(unknown.begin(), unknown.end(), knob) == unknown.end()) unknown.push_back(knob);
}

void OverrideReader::Refuse(const Argument& argument, absl::string_view id, std::string seen, std::string needs) {
  KeepFinding(Fault(argument.at, Severity::kError, id, std::move(seen), std::move(needs)), &out_->findings);
}

void PutOver(ParseResult over, ParseResult* under) {
  std::vector<K>& unknown = under->unknown;
  for (const ParsedKnob& parsed : over.knobs) {
    if (!unknown.empty()) unknown.erase(std::remove(unknown.begin(), unknown.end(), parsed.knob), unknown.end());
  }
  under->knobs.insert(under->knobs.end(), over.knobs.begin(), over.knobs.end());
  for (const K knob : over.unknown) {
    if (std::find(unknown.begin(), unknown.end(), knob) == unknown.end()) unknown.push_back(knob);
  }
  KeepFindings(std::move(over.findings), &under->findings);
}

std::vector<Argument> Arguments(absl::Span<const std::string> argv) {
  std::vector<Argument> arguments;
  arguments.reserve(argv.size());
  for (const std::string& word : argv) {
    const int index = static_cast<int>(arguments.size());
    arguments.push_back({word, {index, 0, 0}});
  }
  return arguments;
}

}  // namespace flightplan
