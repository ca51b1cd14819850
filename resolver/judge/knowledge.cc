#include "resolver/judge/knowledge.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "resolver/base/path.h"
#include "resolver/catalog/derivatives.h"
#include "resolver/catalog/library_recipes.h"
#include "resolver/catalog/loongforge.h"
#include "resolver/catalog/precision_recipes.h"
#include "resolver/judge/flag_form.h"
#include "resolver/plan/knob.h"
#include "resolver/plan/stack.h"

namespace flightplan {
namespace {

// Flags of Megatron-LM, LoongForge and slime that bring values from elsewhere.
constexpr absl::string_view kModelName = "--model-name";
constexpr absl::string_view kElsewhereFlags[] = {"--yaml-cfg",           "--use-checkpoint-args", kModelName,
                                                 "--config-file",        "--config_file",         "--model-config",
                                                 "--custom-config-path", "--megatron-config-path"};

constexpr absl::string_view kLayout[] = {"tensor_model_parallel_size",           "pipeline_model_parallel_size",
                                         "virtual_pipeline_model_parallel_size", "context_parallel_size",
                                         "expert_model_parallel_size",           "expert_tensor_parallel_size",
                                         "tensor_parallel_num_weight_shards"};

// The sizes of a model: words that say none of them, nor where they stand, are a part of a launch.
constexpr absl::string_view kModelFlags[] = {"--num-layers", "--encoder-num-layers", "--hidden-size",
                                             "--hybrid-layer-pattern", "--num-attention-heads"};

constexpr absl::string_view kGpuFacts[] = {"gpu", "cc_major", "cc_minor", "nvlink_domain_gpus", "gpus_per_node"};

constexpr int kStrangeFlags = 3;

bool In(absl::string_view word, absl::Span<const absl::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool IsFlag(absl::string_view text) { return absl::StartsWith(text, "--"); }

// The first of the rows that spell this flag, of whatever release; null: none does.
const internal::FlagRow* FlagNamed(absl::string_view flag) {
  static const auto* const kRows = [] {
    auto* rows = new absl::flat_hash_map<absl::string_view, const internal::FlagRow*>();
    for (const internal::FlagRow& row : Flags()) rows->try_emplace(row.flag, &row);
    return rows;
  }();
  const auto row = kRows->find(flag);
  return row == kRows->end() ? nullptr : row->second;
}

// Of "model.field=value".
std::optional<Knob> KnobOfOverride(absl::string_view text) {
  text = text.substr(0, text.find('='));
  while (absl::ConsumePrefix(&text, "+")) {
  }
  if (text.empty()) return std::nullopt;
  for (int i = 0; i < kKnobCount; ++i) {
    if (text == WordFor(static_cast<Knob>(i), kBridgeOverride)) return static_cast<Knob>(i);
  }
  return std::nullopt;
}

// A word that cannot be read, where no value belongs: it may hold any flags. Whether there is one.
bool ReadUnknownWords(Target stack, absl::Span<const Argument> args, Knowledge* knowledge) {
  bool any_flags = false;
  for (size_t i = 0; i < args.size(); ++i) {
    if (!args[i].unknown) continue;
    knowledge->clear = false;
    absl::string_view flag = args[i].text;
    // A key or an argument of a stack with words of its own, whose reader has said which knob is hidden.
    const bool named = absl::StrContains(flag, "=") || (i > 0 && IsFlag(args[i - 1].text));
    if (!StackOf(stack).vocabulary.empty() && (named || IsFlag(flag))) continue;
    if (StackOf(stack).container) {
      const std::optional<Knob> knob = KnobOfOverride(flag);
      if (knob.has_value()) knowledge->hidden.insert(*knob);
    }
    if (IsFlag(flag)) {
      flag = flag.substr(0, flag.find('='));
    } else if (i > 0 && IsFlag(args[i - 1].text) && !absl::StrContains(args[i - 1].text, '=')) {
      flag = args[i - 1].text;
    }
    const internal::FlagRow* row = FlagNamed(flag);
    const bool words = absl::StrContains(args[i].text, "[@]");  // as many as there are, flags among them
    // A path below a folder that is not known, as the second value of a flag: no flags are hidden in it.
    if (!words && !IsFlag(flag) && absl::StrContains(flag, "}/")) continue;
    if (row != nullptr && TakesValues(row->form)) {
      if (!IsCheckpointPath(row->knob)) knowledge->hidden.insert(row->knob);
    } else if (!IsFlag(flag) || row != nullptr || words) {
      any_flags = true;
      if (!knowledge->elsewhere.empty()) continue;
      knowledge->elsewhere = absl::StrCat("in ", Printable(args[i].text), ", which cannot be read here");
      knowledge->layout_elsewhere = true;
    }
  }
  return any_flags;
}

absl::string_view FlagOf(absl::string_view word) { return word.substr(0, word.find('=')); }

// What stands outside the model, but for these.
void ShowOutsideModel(const KnobSet& hidden, Knowledge* knowledge) {
  for (int i = 0; i < kKnobCount; ++i) {
    const Knob knob = static_cast<Knob>(i);
    if (Row(knob).section != Section::kModel && !hidden.contains(knob)) knowledge->shown.insert(knob);
  }
}

// The flags that name a model's file of a stack that has such files.
bool NamesModelFile(absl::string_view flag) { return flag == kModelName || flag == "--config-file"; }

// The function of a library's recipe was run: what it leaves alone outside the model is as the container's classes have
// it, but for the folders that it names after where it runs. `any_words`: there are words that may say the rest.
void ShowLibraryRecipe(bool any_words, Knowledge* knowledge) {
  KnobSet folders;
  folders.insert(Knob::save);
  folders.insert(Knob::load);
  ShowOutsideModel(folders, knowledge);
  // What it leaves open is what such words say.
  if (any_words) knowledge->shown.erase(Knob::pretrained_checkpoint);
}

// The first flag that says that values stand elsewhere, but for those that `is_own` knows.
void ReadElsewhere(const Stack& stack, absl::Span<const Argument> args,
                   absl::FunctionRef<bool(absl::string_view flag)> is_own, Knowledge* knowledge) {
  if (!knowledge->elsewhere.empty()) return;
  for (const Argument& arg : args) {
    const absl::string_view flag = FlagOf(arg.text);
    if (!IsFlag(arg.text) || !In(flag, kElsewhereFlags) || is_own(flag)) continue;
    knowledge->elsewhere = absl::StrCat("where ", flag, " says");
    knowledge->layout_elsewhere = !stack.model_files;  // its model files hold the architecture
    return;
  }
}

// A container's classes have the sizes of its recipe.
bool SaysModelSize(const Stack& stack, absl::Span<const Argument> args) {
  return stack.container || std::any_of(args.begin(), args.end(), [](const Argument& arg) {
           return IsFlag(arg.text) && In(FlagOf(arg.text), kModelFlags);
         });
}

// A model's file that was read of another day's checkout says an architecture. What no such file says is as the launch
// has it, as long as the launch is all there.
void ShowWhatNoFileSays(absl::Span<const Argument> args, Knowledge* knowledge) {
  for (const Argument& arg : args) {
    const absl::string_view flag = FlagOf(arg.text);
    if (In(flag, kElsewhereFlags) && !NamesModelFile(flag)) return;
  }
  KnobSet said;
  for (const Knob knob : LoongForgeFileKnobs()) said.insert(knob);
  ShowOutsideModel(said, knowledge);
}

// Of overrides: a word that cannot be read and may be any of them.
bool HoldsAnyWords(absl::Span<const Argument> args) {
  for (size_t i = 0; i < args.size(); ++i) {
    const bool value = i > 0 && IsFlag(args[i - 1].text) && !absl::StrContains(args[i - 1].text, '=');
    if (args[i].unknown && !value && !IsFlag(args[i].text) && !absl::StrContains(args[i].text, '=')) return true;
  }
  return false;
}

// Flags that no release of any stack has.
std::ptrdiff_t StrangeFlags(absl::Span<const Argument> args) {
  return std::count_if(args.begin(), args.end(), [](const Argument& arg) {
    const absl::string_view flag = FlagOf(arg.text);
    return IsFlag(arg.text) && !arg.unknown && FlagNamed(flag) == nullptr &&
           std::none_of(LoongForgeFlags().begin(), LoongForgeFlags().end(),
                        [flag](const LoongForgeFlag& own) { return own.flag == flag; });
  });
}

bool IsVariable(absl::string_view name) {
  return std::any_of(name.begin(), name.end(),
                     [](char c) { return absl::ascii_isupper(static_cast<unsigned char>(c)); }) &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return absl::ascii_isupper(static_cast<unsigned char>(c)) ||
                  absl::ascii_isdigit(static_cast<unsigned char>(c)) || c == '_';
         });
}

// A mixed-precision recipe that the caller names says its fields, which Bridge copies over those of the same name.
void ShowPrecision(const ParsedKnob& said, Knowledge* knowledge) {
  if (said.knob != Knob::mixed_precision_recipe || said.origin != Origin::kCaller || !said.value.is_text()) return;
  const PrecisionConfig* const recipe = FindPrecisionRecipe(said.value.text());
  if (recipe == nullptr) return;
  for (const auto& [field, value] : *recipe) {
    const std::optional<Knob> copied = FindKnob(absl::StripPrefix(Name(field), "mixed_precision."));
    if (copied.has_value()) knowledge->shown.insert(*copied);
  }
}

// "field=value"; of "section.field=value" the fault may lie in a value that only a run would know.
bool IsBare(absl::string_view override) {
  const size_t equals = override.find('=');
  return equals != absl::string_view::npos && !absl::StrContains(override.substr(0, equals), '.');
}

// What the reader itself says of a word, rather than a rule of values.
Standing StandingOfReader(const Finding& finding, const Stack& stack, const Knowledge& knowledge) {
  // Of ours: what lies beyond the one was not read, and the other is no stack's to judge.
  static constexpr absl::string_view kOurs[] = {"input.limit", "input.byte-order-mark", "input.line-ends",
                                                "input.continuation", "input.other-launches"};
  if (std::find(std::begin(kOurs), std::end(kOurs), finding.rule_id) != std::end(kOurs)) return Standing::kFull;
  // A fork's choices of a flag that it shares with us are its own, whatever else its scripts bring.
  const auto stated = [](const Observed& seen) { return FindKnob(seen.name).has_value() && !seen.value.is_none(); };
  if (stack.fork && std::any_of(finding.observed.begin(), finding.observed.end(), stated)) return Standing::kFull;
  if (!knowledge.own_parser) return Standing::kNone;
  if (!stack.vocabulary.empty()) return Standing::kFull;  // whose readers say nothing of what they cannot see
  const bool of_file = absl::StartsWith(finding.rule_id, "lf.");
  if (of_file && knowledge.file_of_another_day) {
    // The classes are those of the stack that is asked for; the keys of the file may be others.
    const auto written = [](const Observed& seen) { return !seen.value.is_none(); };
    if (std::any_of(finding.observed.begin(), finding.observed.end(), written)) return Standing::kFull;
    return knowledge.clear ? Standing::kUnless : Standing::kNone;
  }
  // A fork's own flags are not all in the knob table; of those that are, it knows the values.
  const bool known = finding.rule_id == "mlm.argparse" || (of_file && !IsFlag(finding.seen));
  if (!knowledge.surroundings && stack.fork && !knowledge.keyed && !known) return Standing::kNone;
  const auto unstated = [](const Observed& seen) { return !FindKnob(seen.name).has_value() && seen.value.is_none(); };
  if (!knowledge.surroundings && std::any_of(finding.observed.begin(), finding.observed.end(), unstated)) {
    return Standing::kNone;  // a flag that a package brings
  }
  // A flag, and a word that was read as a flag's value, stands where it stands whatever the other words are; so does an
  // override without a section.
  const bool stands = stack.command_line
                          ? !finding.observed.empty() || (IsFlag(finding.seen) && !absl::StrContains(finding.seen, " "))
                          : stack.container && finding.rule_id == "bridge-override.unreadable" && IsBare(finding.seen);
  return knowledge.clear || stands ? Standing::kFull : Standing::kNone;
}

template <class Entries, class FindingOf>
void Keep(const Environment& env, const Knowledge& knowledge, Entries* entries, FindingOf finding_of, SetAside* aside) {
  const auto drop = [&](auto& entry) {
    Finding& finding = finding_of(entry);
    if (finding.severity == Severity::kInfo) return false;
    const Standing standing = StandingOf(finding, env, knowledge);
    if (standing == Standing::kUnless && finding.severity == Severity::kError) finding.severity = Severity::kWarning;
    if (standing != Standing::kNone) return false;
    aside->rules.insert(std::string(finding.rule_id));
    aside->errors = aside->errors || finding.severity == Severity::kError;
    return true;
  };
  entries->erase(std::remove_if(entries->begin(), entries->end(), drop), entries->end());
}

}  // namespace

bool MayHoldVariables(absl::string_view sourced) {
  const absl::string_view name = FileName(sourced);
  return name != "activate" && name != "conda.sh" && !absl::EndsWith(name, ".py");
}

void DropAllArguments(std::vector<Argument>* args) {
  const auto all = [](absl::string_view word) {
    return word == "$@" || word == "$*" || absl::StartsWith(word, "${@") || absl::StartsWith(word, "${*");
  };
  std::vector<Argument> kept;
  kept.reserve(args->size());
  for (Argument& arg : *args) {
    const internal::FlagRow* const flag = kept.empty() ? nullptr : FlagNamed(kept.back().text);
    if (arg.unknown && all(arg.text) && (flag == nullptr || !TakesValues(flag->form))) continue;
    arg.at.index = static_cast<int>(kept.size());
    kept.push_back(std::move(arg));
  }
  *args = std::move(kept);
}

Knowledge KnowledgeOf(Target target, const LaunchWords& words, const ParseResult& parsed) {
  const Stack& stack = StackOf(target);
  const absl::string_view script = words.script;
  const absl::Span<const Argument> args = words.args;
  Knowledge knowledge;
  // What a shell script's model file says was read of another day's checkout.
  const bool own_file = stack.model_files && parsed.own_model_file;
  knowledge.file_of_another_day = stack.model_files && !script.empty() && !own_file;
  const bool file_counts = script.empty() || !stack.model_files || own_file;
  for (const ParsedKnob& knob : parsed.knobs) {
    if (file_counts || knob.origin == Origin::kCaller) knowledge.shown.insert(knob.knob);
    ShowPrecision(knob, &knowledge);
  }
  // A recipe's values, or a model's file, the caller's or as it was read.
  knowledge.base_known = !parsed.base.empty() || (stack.model_files && parsed.model_file_read);
  if (IsLibraryRecipe(parsed.base)) ShowLibraryRecipe(stack.container && HoldsAnyWords(args), &knowledge);
  knowledge.own_loss = stack.hf_models;  // its samples are as long as they are, up to what is counted
  for (const Knob knob : parsed.unknown) (IsCheckpointPath(knob) ? knowledge.shown : knowledge.hidden).insert(knob);
  const bool own_program = stack.marks.entry && stack.marks.launch(absl::AsciiStrToLower(script), args);
  knowledge.own_parser = script.empty() || own_program || IsEntryScript(script);
  if (stack.container && !words.over_defaults) {
    knowledge.elsewhere = "in the recipe";
    knowledge.layout_elsewhere = true;
  }
  // The classes' sizes are 0, which is no model's: what is written alone is put over a recipe that says them.
  if (stack.container && words.over_defaults && !knowledge.shown.contains(Knob::hidden_size)) {
    for (const Knob size : {Knob::num_layers, Knob::hidden_size, Knob::num_attention_heads}) {
      if (!knowledge.shown.contains(size)) knowledge.hidden.insert(size);
    }
  }
  const absl::string_view derivative = stack.command_line && !stack.fork ? DerivativeOf(args, stack.name) : "";
  const bool own = !derivative.empty() && (derivative == stack.name || IsForkOf(stack.name, derivative));
  // A launch of one that has a stack is told by its program, and whoever says another stack wants that one's verdict.
  const bool of_none = !derivative.empty() && FindStack(derivative) == nullptr;
  if (!stack.container) {
    // The one is then a name for the weights that it hands to its engine, the other was read.
    ReadElsewhere(
        stack, args,
        [&](absl::string_view flag) { return (own && flag == kModelName) || (own_file && NamesModelFile(flag)); },
        &knowledge);
  }
  const bool names_file = stack.model_files && !knowledge.elsewhere.empty();
  const bool any_flags = ReadUnknownWords(target, args, &knowledge);
  if (names_file && !any_flags && !script.empty() && knowledge.own_parser) ShowWhatNoFileSays(args, &knowledge);
  if (own) {
    knowledge.own_parser = knowledge.own_loss = true;  // whatever the file is called: train.py is many a program's name
  } else if (of_none) {
    knowledge.own_parser = false;
    knowledge.derivative = std::string(derivative);
    if (knowledge.elsewhere.empty()) knowledge.elsewhere = absl::StrCat("in ", derivative);
  }
  // A slip or two is one; more are another program's. A program that is told by more than its words has others.
  const bool told = own || of_none || (own_program && !stack.fork);
  const bool may_be_anothers = !script.empty() && stack.command_line && !told;
  if (may_be_anothers && StrangeFlags(args) >= kStrangeFlags) knowledge.own_parser = false;
  if (!knowledge.elsewhere.empty() || !stack.command_line) return knowledge;
  if (script.empty() && !SaysModelSize(stack, args)) {
    const bool of_model = stack.model_files && args.empty();
    knowledge.elsewhere = of_model ? "in the launch: this file says what the model is"
                                   : "in the rest of the launch: these words say no model's size";
    knowledge.layout_elsewhere = knowledge.part = true;
  } else if (!stack.fork && !knowledge.own_parser) {
    knowledge.elsewhere = absl::StrCat("in ", Printable(script), " itself");  // defaults of its own
  }
  return knowledge;
}

Standing StandingOf(const Finding& finding, const Environment& env, const Knowledge& knowledge) {
  if (finding.stage == "parse") return StandingOfReader(finding, StackOf(env), knowledge);
  if (absl::StartsWith(finding.rule_id, "fit.")) {
    if (!knowledge.elsewhere.empty() && !knowledge.base_known) return Standing::kNone;
    return knowledge.own_loss || knowledge.size_assumed ? Standing::kUnless : Standing::kFull;
  }
  // What upstream refuses its derivative may have made legal.
  Standing standing = knowledge.derivative.empty() ? Standing::kFull : Standing::kUnless;
  for (const Observed& seen : finding.observed) {
    const std::optional<Knob> knob = FindKnob(seen.name);
    if (!knob.has_value()) {
      if (!knowledge.gpu_known && In(seen.name, kGpuFacts)) return Standing::kNone;
      if (knowledge.hidden_vars.contains(seen.name)) return Standing::kNone;
      if (seen.name == "world_size" && knowledge.size_assumed) standing = Standing::kUnless;
      // Assumed where nobody said; what one version refuses another may take.
      if (seen.name == "te" && !env.te_stated) standing = Standing::kUnless;
      const bool unseen = IsVariable(seen.name) && env.vars.count(seen.name) == 0;
      if (unseen && (knowledge.vars_in_files || !knowledge.surroundings)) standing = Standing::kUnless;
      // A fact of the machine or the software that nobody stated.
      if (!knowledge.surroundings && seen.value.is_none() && !IsVariable(seen.name)) return Standing::kNone;
      continue;
    }
    if (knowledge.hidden.contains(*knob)) return Standing::kNone;
    const bool layout = In(seen.name, kLayout) && !knowledge.layout_elsewhere;
    if (!knowledge.elsewhere.empty() && !layout && !knowledge.shown.contains(*knob)) return Standing::kNone;
  }
  return standing;
}

void KeepWhatIsShown(const Environment& env, const Knowledge& knowledge, std::vector<Finding>* findings,
                     SetAside* aside) {
  Keep(
      env, knowledge, findings, [](Finding& finding) -> Finding& { return finding; }, aside);
}

void KeepWhatIsShown(const Environment& env, const Knowledge& knowledge, std::vector<ParseFinding>* findings,
                     SetAside* aside) {
  Keep(
      env, knowledge, findings, [](ParseFinding& entry) -> Finding& { return entry.finding; }, aside);
}

std::string Sentence(const SetAside& aside, const Knowledge& knowledge) {
  if (aside.rules.empty()) return "";
  return absl::StrCat(absl::StrJoin(aside.rules, ", "), ": the launch does not show all that ",
                      aside.rules.size() == 1 ? "it looks" : "they look", " at",
                      knowledge.elsewhere.empty() ? "" : absl::StrCat("; values stand ", knowledge.elsewhere));
}

}  // namespace flightplan
