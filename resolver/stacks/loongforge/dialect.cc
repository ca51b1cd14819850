#include "resolver/stacks/loongforge/dialect.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "resolver/catalog/bridge_fields.h"
#include "resolver/catalog/defaults.h"
#include "resolver/catalog/loongforge.h"
#include "resolver/catalog/spellings.h"
#include "resolver/read/argparse.h"
#include "resolver/read/hydra_value.h"
#include "resolver/render/flag_words.h"
#include "resolver/stacks/loongforge/adapters.h"
#include "resolver/stacks/loongforge/model.h"
#include "resolver/stacks/megatron_lm/start.h"
#include "resolver/stacks/required_inputs.h"

namespace flightplan {
namespace {

using K = Knob;

const FlagTable& Table() {
  static const auto* const kTable = [] {
    auto* table = new FlagTable();
    for (const LoongForgeFlag& flag : LoongForgeFlags()) {
      table->Add({{flag.flag, flag.knob, flag.form, flag.type, flag.choices}});
    }
    return table;
  }();
  return *kTable;
}

const FlagSpellings& Spellings(Knob knob) {
  static const auto* const kByKnob = [] {
    auto* by_knob = new std::vector<FlagSpellings>(kKnobCount);
    for (const LoongForgeFlag& flag : LoongForgeFlags()) {
      if (!flag.knob.has_value()) continue;
      (*by_knob)[static_cast<size_t>(*flag.knob)].push_back(SpellingOf(flag.flag, flag.form, flag.type));
    }
    return by_knob;
  }();
  return (*kByKnob)[static_cast<size_t>(knob)];
}

// The key that an override of the model's file gives this knob's value by; "": the file says the value already. Empty:
// no override does.
std::optional<std::string> OverrideOf(const LoongForgeModel* file, Knob knob, const Config& config,
                                      const Config& defaults) {
  if (file == nullptr) return std::nullopt;
  const Value& value = config.Get(knob);
  if (const auto said = file->arguments.find(knob); said != file->arguments.end()) {
    return SameWords(value, said->second.value) ? "" : said->second.key;
  }
  if (!Spellings(knob).empty() || SameWords(value, defaults.Get(knob))) return std::nullopt;
  const auto target = file->keys.find(absl::StrCat(file->foundation, "_target_"));
  const bool taken =
      target != file->keys.end() && target->second.is_text() && LoongForgeClassTakes(target->second.text(), Name(knob));
  if (!taken) return std::nullopt;
  return absl::StrCat("+", file->foundation, Name(knob));
}

// Of a field without a flag: whether the argument that it is copied from says it.
bool SaidByArgument(Knob field, const Config& config) {
  return absl::c_any_of(CopiedArguments(), [&](const auto& pair) {
    return pair.first == field && SameWords(config.Get(field), config.Get(pair.second));
  });
}

// Its tokenizer of numbers takes the size of the vocabulary from a flag, which nobody sets where the model's file says
// it (the fork's megatron/training/tokenizer/tokenizer.py:69). What trains on images has no mock data
// (data/multimodal/dataloader_provider.py:349).
StartWords StartOf(const LoongForgeModel* file) {
  StartWords start = kLoongForgeStart;
  if (file == nullptr) return start;
  const auto vocab = file->keys.find(absl::StrCat(file->foundation, "vocab_size_in_config_file"));
  if (vocab != file->keys.end() && vocab->second.is_int()) start.vocab_size = vocab->second.integer();
  if (!file->foundation.empty()) {
    start.mocks = false;
    start.data = "what to train on: the folder of an Energon dataset";
  }
  return start;
}

}  // namespace

ParseResult ParseLoongForge(absl::Span<const Argument> args, const Environment& env) {
  ArgparseOptions options;
  options.parser_name = "LoongForge";
  std::vector<Argument> overrides;
  options.unknown_rule_id = "lf.hydra-override";  // it goes to Hydra as an override, which cannot begin with "-"
  options.leftover = &overrides;
  ParseResult result = ParseArguments(args, Table(), options);
  ReadLoongForgeModel(overrides, env, &result);
  return result;
}

// What cannot be said is kept in `unspelled`: of a launch without a file of LoongForge's, the model.
Launch RenderLoongForge(const RenderInput& input) {
  Launch launch;
  launch.dialect = "loongforge";
  launch.env = input.vars;
  const Config& config = input.config;
  const Config& defaults = DefaultsFor(Target::kLoongForge, kLoongForgeCore, kMain, input.env.mla);
  const LoongForgeModel* file = LoongForgeModelOf(config);
  LaunchWriter words(absl::StrCat(TorchrunWords(input.env), " ${LOONGFORGE_PATH}/loongforge/train.py"), &launch);
  std::vector<Knob> by_flag;
  // A flag that takes a list would swallow an override behind it: those come first.
  for (const K knob : {K::model_name, K::config_file}) {
    if (config.Get(knob).is_text()) WriteFlag(Spellings(knob), config.Get(knob), &words);
  }
  for (int i = 0; i < kKnobCount; ++i) {
    const auto knob = static_cast<K>(i);
    const Origin origin = config.origin(knob);
    if (origin == Origin::kAbsent || origin == Origin::kUpstream || knob == K::model_family) continue;
    if (knob == K::model_name || knob == K::config_file || Row(knob).section == Section::kPeft) continue;
    const Value& value = config.Get(knob);
    const std::optional<std::string> change = OverrideOf(file, knob, config, defaults);
    if (!change.has_value()) {
      by_flag.push_back(knob);
    } else if (!change->empty()) {
      words.Line(absl::StrCat(*change, "=", WriteHydraValue(value)));
    }
  }
  for (std::string& word : LoongForgeAdapterWords(file, config, &launch.unspelled)) words.Line(std::move(word));
  for (const K knob : by_flag) {
    const Value& value = config.Get(knob);
    const bool is_default = SameWords(value, defaults.Get(knob));
    const bool said = config.origin(knob) != Origin::kDefault;
    if (is_default && !said) continue;
    const bool written = !value.is_none() && WriteFlag(Spellings(knob), value, &words);
    const bool is_word = !Spellings(knob).empty() || config.origin(knob) == Origin::kCaller ||
                         (said && FirstFlag(knob, kMain) != nullptr);
    if (!written && !is_default && is_word && !SaidByArgument(knob, config)) launch.unspelled.push_back(knob);
  }
  words.Finish();
  if (config.Get(K::model_name).is_none() && config.Get(K::config_file).is_none()) {
    Ask({"model", "the model, by its name in the registry of LoongForge or by its file", "--model-name NAME",
         "--model-name qwen3-30b-a3b", ""},
        "--model-name \"${MODEL_NAME:?name of the model in LoongForge, or --config-file FILE in its place}\"", &launch);
  }
  if (AdaptersConfigured(config) && config.Get(K::pretrained_checkpoint).is_none()) {
    AskForWord("pretrained_checkpoint", "the folder of the model that the adapters are trained on",
               "--pretrained-checkpoint ", "PATH", "/checkpoints/base", &launch);
  }
  AskForStart(input, StartOf(file), &launch);
  return launch;
}

}  // namespace flightplan
