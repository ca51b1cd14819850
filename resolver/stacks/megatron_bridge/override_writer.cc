#include "resolver/stacks/megatron_bridge/override_writer.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "resolver/catalog/bridge_fields.h"
#include "resolver/catalog/precision_recipes.h"
#include "resolver/read/hydra_value.h"

namespace flightplan {
namespace {

using K = Knob;

const Value* RecipeValue(const PrecisionConfig& recipe, K field) {
  for (const auto& [knob, value] : recipe) {
    if (knob == field) return &value;
  }
  return nullptr;
}

std::string Override(K knob, const Value& value) {
  return absl::StrCat(BridgeSectionOf(knob), ".", FieldNameOf(knob), "=", WriteHydraValue(value));
}

// Marks and launch facts, which no override says.
bool IsSaidElsewhere(K knob) {
  return Row(knob).section == Section::kLaunch || knob == K::dataset_kind || knob == K::peft_scheme ||
         knob == K::dataset_offline_packing_specs || knob == K::mixed_precision_recipe ||
         knob == K::mixed_precision_configured || knob == K::comm_overlap_configured || knob == K::data_parallel_size;
}

// The providers of these classes build each layer's window, rotary positions and gate from fields of their own, of
// which a plain GPT's form takes the pair or the number away (gemma/gemma3_provider.py:113 and :251,
// gemma/modeling_gemma4.py:1740, mimo_v2_flash/modeling_mimo_v2_flash.py:251, stepfun/step35_bridge.py:287).
bool ProviderHasOwn(K knob, absl::string_view model_class) {
  constexpr absl::string_view kClasses[] = {"Gemma3For", "Gemma4For", "MiMoV2FlashFor", "Step3p5For"};
  constexpr K kOwn[] = {K::window_size, K::window_attn_skip_freq, K::rotary_base, K::seq_len_interpolation_factor,
                        K::attention_output_gate};
  return std::find(std::begin(kOwn), std::end(kOwn), knob) != std::end(kOwn) &&
         std::any_of(std::begin(kClasses), std::end(kClasses),
                     [model_class](absl::string_view name) { return absl::StartsWith(model_class, name); });
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
    if (config.origin(knob) == Origin::kModel && ProviderHasOwn(knob, input.env.model_class)) return;
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
  std::vector<std::string> overrides;
  for (const auto& [field, usual] : *recipe) {
    if (!own(field)) overrides.push_back(Override(field, usual));
  }
  return overrides;
}

std::vector<std::string> WriteOverrides(const std::vector<std::pair<Knob, Value>>& knobs) {
  std::vector<std::string> overrides;
  overrides.reserve(knobs.size());
  for (const auto& [knob, value] : knobs) overrides.push_back(Override(knob, value));
  return overrides;
}

namespace {

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

}  // namespace

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

}  // namespace flightplan
