#include "resolver/stacks/megatron_bridge/dialect.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "resolver/base/nearest.h"
#include "resolver/catalog/bridge_fields.h"
#include "resolver/catalog/precision_recipes.h"
#include "resolver/read/hydra_value.h"
#include "resolver/stacks/megatron_bridge/override.h"
#include "resolver/stacks/required_inputs.h"

namespace flightplan {
namespace {

using K = Knob;

// ---- names

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

template <size_t N>
bool Contains(const std::array<absl::string_view, N>& names, absl::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

const Value* RecipeValue(const PrecisionConfig& recipe, K field) {
  for (const auto& [knob, value] : recipe) {
    if (knob == field) return &value;
  }
  return nullptr;
}

// ---- reading

ParseFinding Fault(const SourcePosition& at, Severity severity, absl::string_view id, std::string seen,
                   std::string needs) {
  return MakeParseFinding(at, id, severity, std::move(seen), std::move(needs),
                          "Megatron-Bridge:src/megatron/bridge/training/utils/omegaconf_utils.py:135");
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
  if (equals == absl::string_view::npos || equals == 0) {
    return Refuse(argument, kUnreadable, Printable(argument.text), "an override is section.field=value");
  }
  const absl::string_view key = text.substr(0, equals);
  const absl::StatusOr<Value> value = ReadHydraValue(text.substr(equals + 1));
  if (!value.ok()) {
    return Refuse(argument, kUnreadable, Printable(argument.text), std::string(value.status().message()));
  }
  if (value->is_text() && value->text() == "None") {
    KeepFinding(Fault(argument.at, Severity::kWarning, "bridge-override.none-is-text", Printable(argument.text),
                      "None is text in an override; null means unset"),
                &out_->findings);
  }
  const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(key, absl::MaxSplits('.', 1));
  if (parts.second.empty()) return ReadSection(argument, parts.first, *value);
  ReadField(argument, parts.first, parts.second, *value);
}

// `mixed_precision=bf16_mixed`, `comm_overlap=null`.
void OverrideReader::ReadSection(const Argument& argument, absl::string_view section, const Value& value) {
  if (section == "mixed_precision") {
    Keep(K::mixed_precision_configured, Value(!value.is_none()), argument.at);
    Keep(K::mixed_precision_recipe, value, argument.at);
  } else if (section == "peft" && value.is_none()) {
    Keep(K::peft_scheme, Value("none"), argument.at);
  } else if (section == "comm_overlap" && value.is_none()) {
    Keep(K::comm_overlap_configured, Value(false), argument.at);
  } else if (!Contains(kOpaqueSections, section) || !value.is_none()) {
    Refuse(argument, kUnreadable, Printable(argument.text), "an override names a field: section.field=value");
  }
}

void OverrideReader::ReadField(const Argument& argument, absl::string_view section, absl::string_view field,
                               const Value& value) {
  if (section == "env_vars") {
    out_->recipe_vars[std::string(field)] = value.is_text() ? std::string(value.text()) : value.ToText();
    return;
  }
  if (field == "_target_" && section == "peft") return KeepAdapters(value.text(), argument.at);
  if (field == "_target_") return ReadClass(argument, section);
  const std::optional<K> knob = FindBridgeField(section, field);
  if (!knob.has_value()) return Unknown(argument, section, field);
  if (!Row(*knob).bridge.Contains(release_)) {
    return Refuse(argument, kUnknown, Printable(argument.text),
                  absl::StrCat("Bridge 0.", release_, " has no ", section, ".", field));
  }
  if (section == "dataset" && absl::StartsWith(field, "offline_packing_specs.")) {
    Keep(K::dataset_offline_packing_specs, Value(true), argument.at);
  }
  Keep(*knob, Canonical(*knob, value), argument.at);
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
  out_->knobs.push_back({knob, std::move(value), at});
}

void OverrideReader::Refuse(const Argument& argument, absl::string_view id, std::string seen, std::string needs) {
  KeepFinding(Fault(argument.at, Severity::kError, id, std::move(seen), std::move(needs)), &out_->findings);
}

// ---- writing

namespace {

std::string Override(K knob, const Value& value) {
  return absl::StrCat(BridgeSectionOf(knob), ".", FieldNameOf(knob), "=", WriteHydraValue(value));
}

// Marks and launch facts, which no override says.
bool IsSaidElsewhere(K knob) {
  return Row(knob).section == Section::kLaunch || knob == K::dataset_kind || knob == K::peft_scheme ||
         knob == K::dataset_offline_packing_specs || knob == K::mixed_precision_recipe ||
         knob == K::mixed_precision_configured || knob == K::comm_overlap_configured || knob == K::data_parallel_size;
}

}  // namespace

std::vector<std::pair<Knob, Value>> KnobsToWrite(const RenderInput& input, std::vector<Knob>* unspelled) {
  const Config& config = input.config;
  const int release = NearestRelease(kBridgeReleases, input.env.bridge_release);
  const absl::string_view recipe_name = config.Get(K::mixed_precision_recipe).text();
  const PrecisionConfig* recipe = recipe_name.empty() ? nullptr : FindPrecisionRecipe(recipe_name);
  std::vector<std::pair<Knob, Value>> knobs;
  std::set<K> seen;
  config.ForEachNotDefault([&](K knob) {
    if (!config.Given(knob) || IsSaidElsewhere(knob)) return;
    const K target = BridgeSourceOf(knob, config);
    const bool has_field = !BridgeSectionOf(target).empty() && Row(target).bridge.Contains(release);
    if (!has_field) {
      unspelled->push_back(knob);
      return;
    }
    if (target != knob && config.Given(target)) return;  // it will be written itself
    const Value* usual = recipe == nullptr ? nullptr : RecipeValue(*recipe, target);
    if (usual != nullptr && *usual == config.Get(knob)) return;
    if (seen.insert(target).second) knobs.emplace_back(target, config.Get(knob));
  });
  return knobs;
}

// A name stands for a whole object, whose fields an override can then no longer reach; with fields of its own the
// object is written out.
std::vector<std::string> WritePrecision(const Config& config, std::vector<std::pair<Knob, Value>>* knobs) {
  if (config.Given(K::mixed_precision_configured) && !MixedPrecisionConfigured(config)) return {"mixed_precision=null"};
  const absl::string_view name = config.Get(K::mixed_precision_recipe).text();
  const PrecisionConfig* recipe = name.empty() ? nullptr : FindPrecisionRecipe(name);
  if (recipe == nullptr) return {};
  const bool own_fields = std::any_of(knobs->begin(), knobs->end(), [](const auto& entry) {
    return Row(entry.first).section == Section::kMixedPrecision;
  });
  if (!own_fields) return {absl::StrCat("mixed_precision=", name)};
  const auto own = [knobs](K field) {
    return std::any_of(knobs->begin(), knobs->end(), [field](const auto& entry) { return entry.first == field; });
  };
  // Written beside its older spelling, the usual value of a pair would win over it.
  const auto own_in_old_spelling = [&own](K field) {
    return std::any_of(std::begin(kParamGatherPairs), std::end(kParamGatherPairs),
                       [&](const ParamGatherPair& pair) { return pair.gather == field && own(pair.param); });
  };
  std::vector<std::string> overrides;
  for (const auto& [field, usual] : *recipe) {
    if (!own(field) && !own_in_old_spelling(field)) overrides.push_back(Override(field, usual));
  }
  return overrides;
}

std::vector<std::string> WriteOverrides(const std::vector<std::pair<Knob, Value>>& knobs) {
  std::vector<std::string> overrides;
  overrides.reserve(knobs.size());
  for (const auto& [knob, value] : knobs) overrides.push_back(Override(knob, value));
  return overrides;
}

absl::string_view AdapterClass(const Config& config) {
  const absl::string_view scheme = config.Get(K::peft_scheme).text();
  if (scheme == "dora") return "dora.DoRA";
  if (scheme == "canonical_lora") return "canonical_lora.CanonicalLoRA";
  return scheme == "vlm_lora" ? "lora.VLMLoRA" : "lora.LoRA";
}

// Of most recipes `comm_overlap` is nothing, and `mixed_precision` a name (recipes/common.py:128): an override reaches
// no field of either. With a class of its own the object is made, where there is one it stays (omegaconf_utils.py:454).
// `needed`: a field that the class must be given; null is its usual value.
void MakeObject(absl::string_view section, absl::string_view target, absl::string_view needed,
                std::vector<std::string>* overrides) {
  const std::string prefix = absl::StrCat(section, ".");
  const auto inside = [&](const std::string& word) { return absl::StartsWith(word, prefix); };
  const auto first = std::find_if(overrides->begin(), overrides->end(), inside);
  if (first == overrides->end()) return;
  std::vector<std::string> head = {absl::StrCat("++", prefix, "_target_=megatron.bridge.training.", target)};
  const auto needs = [&](const std::string& word) { return absl::StartsWith(word, absl::StrCat(prefix, needed, "=")); };
  if (!needed.empty() && std::none_of(overrides->begin(), overrides->end(), needs)) {
    head.push_back(absl::StrCat("++", prefix, needed, "=null"));
  }
  const auto at = static_cast<size_t>(first - overrides->begin());
  for (std::string& word : *overrides) {
    if (inside(word)) word.insert(0, "++");
  }
  overrides->insert(overrides->begin() + static_cast<std::ptrdiff_t>(at), head.begin(), head.end());
}

// The recipes of Llama 3 and GPT-3 bring communicators for TP overlap, an object that does not survive being made anew;
// they have a comm_overlap (recipes/llama/h100/llama3.py:797, recipes/gpt/h100/gpt3_175b.py).
bool RecipeTunesTpOverlap(const Config& config) {
  constexpr double kLlama3Base = 500'000;
  const bool dense = config.Get(K::num_moe_experts).is_none();
  return dense && (config.Get(K::rotary_base).real() == kLlama3Base ||
                   config.Get(K::position_embedding_type) == Value("learned_absolute"));
}

// What is trained is a class of its own, too; a recipe of the mode "lora" brings one (recipes/common.py:331).
void MakeAdapters(const Config& config, std::vector<std::string>* overrides) {
  if (!AdaptersConfigured(config)) {
    if (config.Given(K::peft_scheme)) overrides->push_back("peft=null");
    return;
  }
  for (std::string& word : *overrides) {
    if (absl::StartsWith(word, "peft.")) word.insert(0, "++");
  }
  overrides->push_back(absl::StrCat("++peft._target_=megatron.bridge.peft.", AdapterClass(config)));
}

void MakeObjects(const Config& config, std::vector<std::string>* overrides) {
  MakeAdapters(config, overrides);
  MakeObject("mixed_precision", "mixed_precision.MixedPrecisionConfig", "", overrides);
  if (!RecipeTunesTpOverlap(config)) {
    MakeObject("comm_overlap", "comm_overlap.CommOverlapConfig", "tp_comm_overlap", overrides);
  }
}

std::string LaunchText(const EnvVars& vars, absl::string_view command, absl::Span<const std::string> argv) {
  std::string text;
  for (const auto& [name, value] : vars) absl::StrAppend(&text, "export ", name, "=", ShellQuote(value), "\n");
  absl::StrAppend(&text, command);
  bool after_flag = false;
  for (const std::string& word : argv) {  // a flag and its value share a line
    absl::StrAppend(&text, after_flag ? " " : " \\\n    ", ShellQuote(word));
    after_flag = !after_flag && absl::StartsWith(word, "-");
  }
  return text + "\n";
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

// ---- the dialect

ParseResult ParseBridge(absl::Span<const Argument> args, const Environment& env) {
  ParseResult result;
  OverrideReader reader(NearestRelease(kBridgeReleases, env.bridge_release), &result);
  for (size_t i = 0; i < args.size(); ++i) {
    if (i >= kMaxArguments) {
      reader.Refuse(args[i], "input.limit", absl::StrCat(args.size(), " overrides"),
                    absl::StrCat("at most ", kMaxArguments));
      break;
    }
    reader.Read(args[i]);
  }
  return result;
}

ParseResult ParseBridge(absl::Span<const std::string> argv, const Environment& env) {
  return ParseBridge(absl::Span<const Argument>(Arguments(argv)), env);
}

Launch RenderBridge(const RenderInput& input) {
  Launch launch;
  launch.dialect = "bridge";
  launch.env = input.vars;
  std::vector<std::pair<Knob, Value>> knobs = KnobsToWrite(input, &launch.unspelled);
  const std::vector<std::string> precision = WritePrecision(input.config, &knobs);
  const bool adapters = AdaptersConfigured(input.config);
  const int release = NearestRelease(kBridgeReleases, input.env.bridge_release);
  std::string recipe(input.config.Get(K::launch_recipe).text());
  const std::optional<Recipe> start =
      recipe.empty() ? RecipeFor(input.hf_model, adapters, release) : std::optional<Recipe>();
  if (start.has_value()) {
    recipe = std::string(start->function);
    const std::vector<std::pair<K, Value>> otherwise = SetOtherwise(*start, input.config, release, knobs);
    knobs.insert(knobs.end(), otherwise.begin(), otherwise.end());
  }
  launch.argv = WriteOverrides(knobs);
  launch.argv.insert(launch.argv.end(), precision.begin(), precision.end());
  MakeObjects(input.config, &launch.argv);
  if (input.config.Given(K::comm_overlap_configured) && !CommOverlapConfigured(input.config)) {
    launch.argv.push_back("comm_overlap=null");
  }
  std::string command = absl::StrCat("uv run ", TorchrunWords(input.env));
  absl::StrAppend(&command, " scripts/training/run_recipe.py --mode ",
                  !adapters                                           ? "pretrain"
                  : input.config.Get(K::peft_scheme) == Value("dora") ? "dora"
                                                                      : "lora");
  absl::StrAppend(
      &command, " --recipe ",
      recipe.empty() ? "\"${RECIPE:?name of the recipe function; or --model NAME in its place}\"" : ShellQuote(recipe));
  launch.text = LaunchText(launch.env, command, launch.argv);
  AskForNodes(input.env, &launch);
  if (recipe.empty()) {
    launch.required_inputs.push_back(
        {"recipe", "the recipe that the overrides are applied to", "--recipe NAME (or --model NAME)",
         adapters ? "--recipe qwen3_30b_a3b_peft_config" : "--recipe qwen3_30b_a3b_pretrain_config", ""});
  }
  return launch;
}

}  // namespace flightplan
