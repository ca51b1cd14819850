#include "resolver/stacks/flagscale/dialect.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "resolver/base/yaml.h"
#include "resolver/plan/stack.h"
#include "resolver/read/argparse.h"
#include "resolver/read/hydra_value.h"
#include "resolver/stacks/flagscale/flags.h"
#include "resolver/stacks/layered_settings.h"
#include "resolver/stacks/megatron_lm/dialect.h"
#include "resolver/stacks/required_inputs.h"
#include "resolver/stacks/written_knobs.h"

namespace flightplan {
namespace {

using K = Knob;

constexpr SettingsGrammar kSettings = {.rule_id = "flagscale.settings",
                                       .source = "FlagScale:flagscale/runner/runner_train.py:29",
                                       .below = SettingsGrammar::Below::kGroups};
constexpr absl::string_view kUnread = "flagscale.unread-flag";

// What becomes flags, in this order (runner_train.py:39).
constexpr absl::string_view kSections[] = {"train.system", "train.model", "train.data"};
constexpr absl::string_view kIgnored[] = {"log_dir", "details_dir", "scripts_dir", "pids_dir"};

// Of its fork: another size of the feed-forward layer, and layouts that differ from stage to stage
// (backends/Megatron-LM/megatron/training/arguments.py.patch).
constexpr absl::string_view kFfnUnit = "--multiple-of", kFfnFactor = "--hidden-dim-multiplier",
                            kUneven = "--enable-hetero", kDualPipe = "--use-dualpipev", kAdapters = "--peft-type";

// Where a flag's value stands in the experiment, as an override of it.
std::string KeyOf(absl::string_view flag) {
  return absl::StrCat("++train.model.", absl::StrReplaceAll(absl::StripPrefix(flag, "--"), {{"-", "_"}}));
}

const FlagTable& Table() {
  static const auto* const kTable = [] {
    auto* table = new FlagTable(FindStack("flagscale")->core_release(kMain));
    table->Add(FlagScaleFlags());
    return table;
  }();
  return *kTable;
}

// flatten_dict_to_args (flagscale/runner/utils.py:271).
class Flattener {
 public:
  explicit Flattener(const LayeredSettings& settings) : settings_(settings) {}

  std::vector<Argument> Words() && {
    for (const absl::string_view section : kSections) {
      const std::string prefix = absl::StrCat(section, ".");
      if (const YamlNode* map = settings_.Map(section); map != nullptr) Add(*map, prefix);
      for (const auto& [path, found] : settings_.overrides()) {
        if (absl::StartsWith(path, prefix) && !settings_.InFiles(path)) AddValue(path, found);
      }
    }
    return std::move(words_);
  }

 private:
  void Add(const YamlNode& map, const std::string& prefix) {
    for (const auto& [key, node] : map.keys) {
      if (words_.size() > kMaxArguments) return;
      if (std::find(std::begin(kIgnored), std::end(kIgnored), key) != std::end(kIgnored)) continue;
      const std::string path = absl::StrCat(prefix, key);
      if (node.kind == YamlNode::Kind::kMap) {
        Add(node, absl::StrCat(path, "."));
      } else if (const auto found = settings_.Find(path); found.has_value()) {
        AddValue(path, *found);
      }
    }
  }

  void AddValue(absl::string_view path, const LayeredSettings::Found& found) {
    const std::string flag = absl::StrCat("--", absl::StrReplaceAll(path.substr(path.rfind('.') + 1), {{"_", "-"}}));
    if (!found.value.has_value()) {
      words_.push_back({flag, found.at});
      words_.push_back({"${...}", found.at, true});
      return;
    }
    const Value& value = *found.value;
    if (value.is_bool()) {
      if (value.truthy()) words_.push_back({flag, found.at});
      return;
    }
    words_.push_back({flag, found.at});
    if (!value.is_list()) {
      words_.push_back({value.is_none() ? "None" : value.ToText(), found.at});
      return;
    }
    for (const Value& item : value.list()) words_.push_back({item.ToText(), found.at});
  }

  const LayeredSettings& settings_;
  std::vector<Argument> words_;
};

// What the runner exports before the trainer starts.
void TakeVariables(const LayeredSettings& settings, ParseResult* out) {
  const YamlNode* const map = settings.Map("experiment.envs");
  if (map == nullptr) return;
  for (const auto& [name, node] : map->keys) {
    const std::optional<Value> value = settings.ValueOf(node);
    if (value.has_value() && !value->is_none() && !value->is_list()) out->recipe_vars[name] = value->ToText();
  }
}

// What is written behind a flag the last time; null: nothing is.
const Argument* ValueOf(absl::Span<const Argument> words, absl::string_view flag) {
  const Argument* value = nullptr;
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i].text == flag) value = &words[i + 1];
  }
  return value;
}

// Two thirds of four times the width, by the factor, up to the next multiple (arguments.py.patch, validate_args).
void SetFfn(absl::Span<const Argument> words, WrittenKnobs* knobs) {
  const Argument *const unit = ValueOf(words, kFfnUnit), *const factor = ValueOf(words, kFfnFactor);
  if (unit == nullptr || knobs->Has(K::ffn_hidden_size) || knobs->Unknown(K::ffn_hidden_size)) return;
  constexpr int64_t kMostWidth = int64_t{1} << 32;
  int64_t multiple = 0;
  double by = 1;
  const std::optional<int64_t> hidden = knobs->Number(K::hidden_size);
  const bool known = !unit->unknown && absl::SimpleAtoi(unit->text, &multiple) &&
                     (factor == nullptr || (!factor->unknown && absl::SimpleAtod(factor->text, &by)));
  const bool sound =
      hidden.value_or(0) > 0 && *hidden <= kMostWidth && multiple > 0 && multiple <= kMostWidth && by > 0 && by < 1024;
  if (!knobs->Unknown(K::swiglu) && !knobs->Of(K::swiglu).truthy()) return;  // the rule is for gated layers
  if (knobs->Unknown(K::swiglu) || !known || !sound) return knobs->Lose(K::ffn_hidden_size);
  const int64_t gated_width = *hidden * 8 / 3;  // whole, as its fork has it
  const auto width = static_cast<int64_t>(static_cast<double>(gated_width) * by);
  knobs->Set(K::ffn_hidden_size, (width + multiple - 1) / multiple * multiple);
}

// The adapters of its fork, whose defaults are not the knobs'.
void WriteAdapters(const Config& config, LaunchWriter* words, Launch* launch) {
  const auto write = [&](K knob, absl::string_view flag, const Value& value) {
    launch->words.push_back(words->At(knob));
    words->Line(absl::StrCat(KeyOf(flag), "=", WriteHydraValue(value)));
  };
  const bool trains = config.Get(K::peft_scheme) == Value("lora");
  if (trains) write(K::peft_scheme, kAdapters, Value("lora"));
  for (const FlagSpec& flag : FlagScaleFlags()) {
    if (!flag.knob.has_value() || config.Get(*flag.knob).is_none()) continue;
    if (trains || config.Given(*flag.knob)) write(*flag.knob, flag.flag, config.Get(*flag.knob));
  }
  config.ForEachNotDefault([&](K knob) {
    const bool written = absl::c_any_of(launch->words, [knob](const KnobWords& one) { return one.knob == knob; });
    const bool of_them = Row(knob).section == Section::kPeft && config.Given(knob) && config.Get(knob) != Value("none");
    if (of_them && !written) launch->unspelled.push_back(knob);
  });
}

ParseResult Read(const LayeredSettings& settings, ParseResult of_files) {
  const std::vector<Argument> words = Flattener(settings).Words();
  ArgparseOptions options;
  options.parser_name = "FlagScale";
  options.unknown_rule_id = kUnread;
  std::vector<Argument> strays;
  options.leftover = &strays;
  ParseResult result = ParseArguments(words, Table(), options);
  // An entry script may add flags of its own: nothing is said of them.
  result.findings.erase(std::remove_if(result.findings.begin(), result.findings.end(),
                                       [](const ParseFinding& entry) { return entry.finding.rule_id == kUnread; }),
                        result.findings.end());
  KeepFindings(std::move(result.findings), &of_files.findings);
  result.findings = std::move(of_files.findings);
  result.wanted_files = std::move(of_files.wanted_files);
  result.elsewhere = std::move(of_files.elsewhere);
  WrittenKnobs knobs(&result);
  const auto says = [&words](absl::string_view flag) {
    return std::any_of(words.begin(), words.end(), [flag](const Argument& word) { return word.text == flag; });
  };
  SetFfn(words, &knobs);
  if (says(kDualPipe)) result.others.not_modelled = "the DualPipeV schedule";
  const Argument* const adapters = ValueOf(words, kAdapters);
  if (adapters != nullptr && adapters->text == "lora") {
    knobs.Set(K::peft_scheme, "lora");  // flagscale/train/peft/lora.py: Megatron-Bridge's adapter, of an older day
    if (!knobs.Has(K::peft_dim)) knobs.Set(K::peft_dim, 8);
    if (!knobs.Has(K::peft_alpha)) knobs.Set(K::peft_alpha, 16);
  } else if (adapters != nullptr && adapters->text != "None") {
    result.others.not_modelled = "adapters of FlagScale's own";
  }
  if (says(kUneven)) {
    result.others.not_modelled = "layouts that differ from stage to stage";
    result.elsewhere = "in the meshes of --hetero-process-meshes";
  }
  knobs.SetWorld(settings.Number("experiment.runner.nnodes"), settings.Number("experiment.runner.nproc_per_node"));
  TakeVariables(settings, &result);
  return result;
}

}  // namespace

ParseResult ParseFlagScale(absl::Span<const Argument> args, const Environment& env) {
  ParseResult result;
  args = AsManyAsAreRead(args, "FlagScale:run.py:1", &result);
  LayeredSettings settings(kSettings, env, &result);
  std::string folder, name;
  std::vector<const Argument*> overrides;
  for (size_t i = 0; i < args.size(); ++i) {
    absl::string_view word = args[i].text;
    std::string* const to = absl::ConsumePrefix(&word, "--config-path")   ? &folder
                            : absl::ConsumePrefix(&word, "--config-name") ? &name
                                                                          : nullptr;
    if (to == nullptr) {
      if (!absl::StartsWith(word, "-")) overrides.push_back(&args[i]);
    } else if (absl::ConsumePrefix(&word, "=")) {
      if (!args[i].unknown) *to = std::string(word);
    } else if (i + 1 < args.size() && !args[++i].unknown) {
      *to = args[i].text;
    }
  }
  if (name.empty()) {
    result.elsewhere = "in the file of --config-name";
  } else {
    const absl::string_view above = absl::StripSuffix(folder, "/");
    settings.AddFile(absl::StrCat(above, above.empty() ? "" : "/", absl::StripSuffix(name, ".yaml"), ".yaml"));
  }
  for (const Argument* argument : overrides) settings.Override(*argument);
  return Read(settings, std::move(result));
}

ParseResult ParseFlagScaleYaml(absl::string_view text, const Environment& env) {
  ParseResult result;
  LayeredSettings settings(kSettings, env, &result);
  settings.AddText(text);
  return Read(settings, std::move(result));
}

std::string FlagScaleTask(absl::string_view text) {
  const absl::StatusOr<YamlDocument> document = ParseYaml("experiment", text, YamlAliases::kMerged);
  const YamlNode* node = document.ok() ? &document->root : nullptr;
  for (const absl::string_view key : {"experiment", "task", "type"}) {
    if (node != nullptr) node = node->Find(key);
  }
  if (node == nullptr || node->kind != YamlNode::Kind::kScalar || node->text == "train") return "";
  if (absl::StrContains(node->text, "${")) return "";
  return absl::StrCat("not a training of Megatron's: experiment.task.type is ", Printable(node->text));
}

Launch RenderFlagScale(const RenderInput& input) {
  // As Megatron-LM's flags have it; a flag that turns something off is a key that is true.
  RenderInput of_flags = input;
  of_flags.like = nullptr;  // which is written in this dialect's words
  const Launch flags = WriteMegatronFlags(of_flags, "run.py");
  Launch launch;
  launch.env = input.vars;
  LaunchWriter words("python3 run.py", &launch);
  const bool whole = IsWhole(input.config);
  if (whole) {
    if (const Nodes nodes = NodesOf(input.env); nodes.count > 0) {
      words.Line(absl::StrCat("++experiment.runner.nnodes=", nodes.count));
      words.Line(absl::StrCat("++experiment.runner.nproc_per_node=", nodes.gpus));
    }
    words.Line("action=run");
  }
  launch.unspelled = flags.unspelled;
  size_t next = 0;
  for (size_t i = 0; i < flags.argv.size();) {
    absl::string_view flag = flags.argv[i];
    const size_t begin = i++;
    for (; next < flags.words.size() && flags.words[next].argv == begin; ++next) {
      launch.words.push_back(words.At(flags.words[next].knob));
    }
    if (!absl::ConsumePrefix(&flag, "--")) continue;
    std::string values;
    size_t count = 0;
    for (; i < flags.argv.size() && !absl::StartsWith(flags.argv[i], "--"); ++i, ++count) {
      absl::StrAppend(&values, count == 0 ? "" : ",", WriteHydraValue(Value(flags.argv[i])));
    }
    if (count > 1) values = absl::StrCat("[", values, "]");
    words.Line(absl::StrCat(KeyOf(flag), "=", count == 0 ? "true" : values));
  }
  WriteAdapters(input.config, &words, &launch);
  words.Finish();
  if (!whole) return launch;
  AskForWord("config_path", "the folder of the experiment", "--config-path=", "DIR", "examples/aquila/conf", &launch);
  AskForWord("config_name", "the file of the experiment, without .yaml", "--config-name=", "NAME", "train", &launch);
  return launch;
}

}  // namespace flightplan
