#include "resolver/stacks/primus/dialect.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "resolver/catalog/defaults.h"
#include "resolver/plan/stack.h"
#include "resolver/read/argparse.h"
#include "resolver/read/hydra_value.h"
#include "resolver/stacks/layered_settings.h"
#include "resolver/stacks/megatron_lm/program.h"
#include "resolver/stacks/primus/words.h"
#include "resolver/stacks/required_inputs.h"
#include "resolver/stacks/written_knobs.h"

namespace flightplan {
namespace {

using K = Knob;

// primus/core/config/yaml_loader.py:45 and :116.
constexpr SettingsGrammar kSettings = {.rule_id = "primus.settings",
                                       .source = "Primus:primus/core/config/yaml_loader.py:18",
                                       .below = SettingsGrammar::Below::kExtends,
                                       .references = SettingsGrammar::References::kVariables};

// Values of model_type whose classes are Megatron-LM's.
constexpr absl::string_view kMegatronModels[] = {"gpt", "mamba", "hybrid"};

// Presets of Megatron's trainer (primus/core/config/preset_loader.py:45).
constexpr absl::string_view kModules = "primus/configs/modules/megatron/", kModels = "primus/configs/models/megatron/";

struct Keys {
  absl::flat_hash_map<std::string, Knob> knobs;
  absl::flat_hash_map<Knob, std::string> names;  // as a launch says them
  absl::flat_hash_map<Knob, absl::string_view> choices;
};

// Flags whose argument has a name of its own, which is the knob's.
constexpr absl::string_view kRenamed[] = {"--fp8-format", "--fp4-format", "--use-nccl-ub"};

// A key is the name of a parsed argument; others are passed over (argument_builder.py:156). A switch that turns off has
// the name of what it turns off, which is the knob's.
const Keys& PrimusKeys() {
  static const auto* const kKeys = [] {
    auto* keys = new Keys();
    for (const internal::FlagRow& row : Flags()) {
      if (!row.releases.Contains(FindStack("primus")->core_release(kMain))) continue;
      const std::string own(Name(row.knob));
      const bool off = row.form == FlagForm::kSwitchOff || absl::StartsWith(row.flag, "--no-");
      const bool renamed = std::find(std::begin(kRenamed), std::end(kRenamed), row.flag) != std::end(kRenamed);
      const std::string name =
          off || renamed ? own : absl::StrReplaceAll(absl::StripPrefix(row.flag, "--"), {{"-", "_"}});
      keys->knobs.try_emplace(name, row.knob);
      keys->names.try_emplace(row.knob, name);
      if (*row.choices != '\0') keys->choices.try_emplace(row.knob, row.choices);
    }
    return keys;
  }();
  return *kKeys;
}

absl::string_view ChoicesOf(Knob knob) {
  const auto choices = PrimusKeys().choices.find(knob);
  return choices == PrimusKeys().choices.end() ? "" : choices->second;
}

bool Among(absl::string_view word, absl::string_view choices) {
  return absl::StrContains(absl::StrCat("|", choices, "|"), absl::StrCat("|", word, "|"));
}

// An environment variable's text may say it in words.
bool IsNone(const Value& value) {
  return value.is_none() || (value.is_text() && (value.text() == "null" || value.text() == "None"));
}

// The ranks that runner/primus-cli-direct.sh starts, where the launch says how many nodes there are.
void TakeWorld(const Environment& env, ParseResult* out) {
  const auto number = [&env](absl::string_view name, std::optional<int64_t> unset) -> std::optional<int64_t> {
    const auto found = env.vars.find(name);
    int64_t value = 0;
    if (found == env.vars.end()) return unset;
    if (!absl::SimpleAtoi(found->second, &value)) return std::nullopt;
    return value;
  };
  const std::optional<int64_t> nodes = number("NNODES", std::nullopt);
  if (nodes.has_value()) WrittenKnobs(out).SetWorld(nodes, number("GPUS_PER_NODE", 8));
}

class Reader {
 public:
  Reader(const LayeredSettings& experiment, const Environment& env, ParseResult* out)
      : experiment_(experiment), out_(*out), knobs_(out), values_(kSettings, env, out) {}

  void Read() {
    const std::string module = Module();
    if (module.empty() && out_.elsewhere.empty()) {
      out_.elsewhere = "in the module that trains with Megatron";
      return;
    }
    // Where the experiment's file is not there, the keys of the launch stand all the same.
    if (!module.empty()) AddModule(module);
    for (const auto& [key, node] : values_.root().keys) {
      const auto knob = PrimusKeys().knobs.find(key);
      if (knob == PrimusKeys().knobs.end()) continue;
      const auto written = experiment_.overrides().find(key);
      if (written == experiment_.overrides().end()) {
        Take(knob->second, values_.ValueOf(node), {-1, node.line, node.column});
      }
    }
    for (const auto& [key, found] : experiment_.overrides()) {
      const auto knob = PrimusKeys().knobs.find(key);
      if (knob != PrimusKeys().knobs.end()) Take(knob->second, found.value, found.at);
    }
    SetByPatches();
    NoteWhatIsNotWeighed();
  }

 private:
  // primus/core/config/primus_config.py:141: the trainer's, or that of a training after it.
  std::string Module() const {
    for (const char* name : {"modules.pre_trainer", "modules.post_trainer"}) {
      if (experiment_.Text(absl::StrCat(name, ".framework")) == "megatron") return name;
    }
    return "";
  }

  void AddModule(const std::string& module) {
    AddPreset(kModules, absl::StrCat(module, ".config"));
    AddPreset(kModels, absl::StrCat(module, ".model"));
    if (const YamlNode* map = experiment_.Map(absl::StrCat(module, ".overrides")); map != nullptr) values_.AddMap(*map);
  }

  void AddPreset(absl::string_view folder, const std::string& key) {
    const std::string name = experiment_.Text(key);
    if (name.empty()) {
      out_.elsewhere = absl::StrCat("in the preset of ", key);
      return;
    }
    const bool ending = absl::EndsWith(name, ".yaml") || absl::EndsWith(name, ".yml");
    values_.AddFile(absl::StrCat(folder, name, ending ? "" : ".yaml"));
  }

  // Values are put into the arguments as they are; only enums and patterns of layers are converted
  // (argument_builder.py:87, patches/args/moe_layer_freq_patches.py).
  void Take(Knob knob, std::optional<Value> value, SourcePosition at) {
    if (!value.has_value()) return knobs_.Lose(knob);
    if (IsNone(*value)) return knobs_.Take(knob, Value(), at);
    if (value->is_text() && Row(knob).type != ValueType::kString) {
      absl::StatusOr<Value> typed = ReadFlagValue(value->text(), Row(knob).type);
      if (!typed.ok()) return knobs_.Lose(knob);
      value = *std::move(typed);
    }
    // No parser asks for one of its choices: patches of Primus's give others a meaning.
    const absl::string_view choices = ChoicesOf(knob);
    if (value->is_text() && !choices.empty() && !Among(value->text(), choices)) return knobs_.Lose(knob);
    knobs_.Take(knob, *std::move(value), at);
  }

  void SetByPatches() {
    // patches/env_patches.py:49, unless the caller exports it.
    const bool fsdp = knobs_.Of(K::use_torch_fsdp2).truthy() || knobs_.Of(K::use_megatron_fsdp).truthy();
    out_.recipe_vars["CUDA_DEVICE_MAX_CONNECTIONS"] = fsdp ? "8" : "1";
    // patches/recompute_layer_patches.py:350: layers by their numbers, and no method.
    if (Says("recompute_layer_ids")) {
      for (const K knob : {K::recompute_granularity, K::recompute_method, K::recompute_num_layers}) knobs_.Lose(knob);
    }
    // patches/args/validate_args_patches.py:63: stages by their numbers of layers.
    if (Says("decoder_pipeline_manual_split_list")) knobs_.Lose(K::num_layers_in_first_pipeline_stage);
    // patches/args/mock_data_patches.py:32: whatever paths are written, none is read.
    if (knobs_.Of(K::mock_data).truthy()) {
      for (const K path : {K::data_path, K::train_data_path, K::valid_data_path, K::test_data_path}) {
        knobs_.Force(path, Value());
      }
      knobs_.Force(K::tokenizer_type, "NullTokenizer");
    }
    // Classes of Primus's own, which Megatron's checks of its configuration do not meet.
    const std::string model = values_.Text("model_type");
    if (!model.empty() &&
        std::find(std::begin(kMegatronModels), std::end(kMegatronModels), model) == std::end(kMegatronModels)) {
      knobs_.Lose(K::rope_type);
      out_.others.not_modelled = absl::StrCat("models of Primus's own such as ", Printable(model));
    }
    // patches/args/sequence_parallel_tp1_patches.py.
    if (knobs_.Size(K::tensor_model_parallel_size) == 1 && !knobs_.Unknown(K::tensor_model_parallel_size)) {
      knobs_.Set(K::sequence_parallel, false);
    }
  }

  bool Says(absl::string_view key) const {
    const auto found = values_.Find(key);
    return found.has_value() && (!found->value.has_value() || !IsNone(*found->value));
  }
  bool On(absl::string_view key) const { return values_.Bool(key, false).value_or(true); }

  void NoteWhatIsNotWeighed() {
    std::string& what = out_.others.not_modelled;
    if (On("patch_zero_bubble") || On("patch_primus_pipeline")) what = "Primus's own pipeline schedules";
    if (!values_.Text("peft").empty() && values_.Text("peft") != "none") what = "adapters of Primus's own";
    if (On("use_turbo_fp8_activation_store")) what = "activations that are kept in FP8";
  }

  const LayeredSettings& experiment_;
  ParseResult& out_;
  WrittenKnobs knobs_;
  LayeredSettings values_;
};

}  // namespace

ParseResult ParsePrimus(absl::Span<const Argument> args, const Environment& env) {
  ParseResult result;
  args = AsManyAsAreRead(args, "Primus:primus/core/launcher/parser.py:18", &result);
  LayeredSettings experiment(kSettings, env, &result);
  for (size_t i = 0; i < args.size(); ++i) {
    absl::string_view word = args[i].text;
    const size_t equals = word.find('=');
    const bool file = NamesExperiment(word);
    const bool pair = absl::StartsWith(word, "--") && equals == absl::string_view::npos && i + 1 < args.size();
    // "--key value" is "key=value" (primus/core/utils/arg_utils.py:54).
    Argument whole = args[i];
    if (pair) {
      whole.unknown = whole.unknown || args[i + 1].unknown;
      whole.text = absl::StrCat(word, "=", args[++i].text);
    } else if (equals == absl::string_view::npos) {
      continue;  // train pretrain
    }
    whole.text = std::string(absl::StripPrefix(whole.text, "--"));
    if (file) {
      if (!whole.unknown) experiment.AddFile(whole.text.substr(whole.text.find('=') + 1));
    } else {
      experiment.Override(whole);
    }
  }
  Reader(experiment, env, &result).Read();
  const bool command = !args.empty() && (args.front().text == "pretrain" || args.front().text == "posttrain");
  if (command) TakeWorld(env, &result);
  return result;
}

ParseResult ParsePrimusYaml(absl::string_view text, const Environment& env) {
  ParseResult result;
  LayeredSettings experiment(kSettings, env, &result);
  experiment.AddText(text);
  Reader(experiment, env, &result).Read();
  return result;
}

std::string PrimusPlace(Knob knob, const YamlNode& root) {
  const auto name = PrimusKeys().names.find(knob);
  const YamlNode* const modules = root.Find("modules");
  if (name == PrimusKeys().names.end() || modules == nullptr) return "";
  const char* const module = modules->Find("pre_trainer") != nullptr ? "pre_trainer" : "post_trainer";
  return absl::StrCat("modules.", module, ".overrides.", name->second);
}

Launch RenderPrimus(const RenderInput& input) {
  Launch launch;
  launch.env = input.vars;
  LaunchWriter words(absl::StrCat(TorchrunWords(input.env), " primus/cli/main.py train pretrain"), &launch);
  const bool whole = IsWhole(input.config);
  if (whole) {
    words.Line("--config");
    words.Word("examples/megatron/exp_pretrain.yaml");
  }
  const bool pattern = HasLayerPattern(input.config);
  const std::optional<Config> told = ToldLayers(input.config, MegatronProgramFor(pattern, input.env.core_release));
  const Config& config = told.has_value() ? *told : input.config;
  if (whole && pattern) words.Line("model_type=mamba");  // megatron_pretrain_trainer.py:165
  for (int i = 0; i < kKnobCount; ++i) {
    const Knob knob = static_cast<Knob>(i);
    if (!Config::Given(config.origin(knob)) || knob == K::launch_num_gpus) continue;
    const Value& value = config.Get(knob);
    const auto name = PrimusKeys().names.find(knob);
    if (name != PrimusKeys().names.end()) {
      launch.words.push_back(words.At(knob));
      words.Line(absl::StrCat(name->second, "=", value.is_none() ? "None" : WriteHydraValue(value)));
    } else if (!value.is_none()) {
      launch.unspelled.push_back(knob);
    }
  }
  words.Finish();
  if (whole) AskForNodes(input.env, &launch);
  return launch;
}

}  // namespace flightplan
