#include "resolver/judge/convert_config.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "resolver/base/status_macros.h"
#include "resolver/catalog/bridge_fields.h"
#include "resolver/catalog/defaults.h"
#include "resolver/catalog/spellings.h"
#include "resolver/derive/idle_knobs.h"
#include "resolver/derive/renamed_knobs.h"
#include "resolver/derive/target_knobs.h"
#include "resolver/engine/engine.h"
#include "resolver/judge/carried_words.h"
#include "resolver/judge/container_words.h"
#include "resolver/judge/conversion_reasons.h"
#include "resolver/judge/converted_question.h"
#include "resolver/judge/launch_nodes.h"
#include "resolver/judge/open_model.h"
#include "resolver/judge/read_config.h"
#include "resolver/judge/same_meaning.h"
#include "resolver/judge/vet_config.h"
#include "resolver/normalize/violations.h"
#include "resolver/plan/stack.h"
#include "resolver/stacks/dialects.h"
#include "resolver/stacks/required_inputs.h"

namespace flightplan {
namespace {

// One stack with the configuration as it is written there.
struct Side {
  Environment env;
  Config config;
};

bool Has(const Side& side, Knob knob) { return side.config.origin(knob) != Origin::kAbsent; }

class Conversion {
 public:
  // `known`, `out`: outlive the conversion, which fills the launch and the lists of `out`.
  Conversion(Side from, Side to, const Knowledge& known, ConvertedConfig* out)
      : from_(std::move(from)), to_(std::move(to)), known_(known), out_(*out) {}

  // What the source writes, under the target's names.
  void CarryOver(const std::vector<ParsedKnob>& written) {
    const Config runs_here = Run(from_.config, from_.env).config;
    for (const ParsedKnob& parsed : written) {
      const Knob source = parsed.knob;
      if (!seen_.insert(source).second || CarryRecipe(source) || IsUnread(source, from_.config, runs_here)) continue;
      // Of a recipe's own value, which a word of the launch may overrule, what is left.
      const bool said = from_.config.origin(source) == Origin::kCaller;
      const Value& value = (said ? from_.config : runs_here).Get(source);
      const bool takes_back = said && value.is_none() && from_.env.target == to_.env.target && Has(to_, source);
      Move move{source, takes_back ? source : CanonicalKnob(source), value, ""};
      const auto renamed = RenameFor(move.target, value, from_.config, to_.env);
      if (renamed.has_value() && !takes_back) {  // a recipe's value of an old name goes by that name alone
        move = {source, renamed->knob, renamed->value, std::string(renamed->why)};
        if (!renamed->lost.is_none()) Add(&out_.dropped, source, renamed->lost, "", move.why);
        if (renamed->value.is_none()) continue;
        for (const auto& [other, its] : renamed->beside) {
          to_.config.Set(other, its, Origin::kCaller);
          moves_.push_back({source, other, its, move.why});
        }
      } else if (source == Knob::num_layers_per_virtual_pipeline_stage && !Has(to_, source)) {
        const Knob stages = Knob::virtual_pipeline_model_parallel_size;
        move = {source, stages, runs_here.Get(stages), "the stages that so many layers make"};
      }
      NameValue(&move);
      if (CarryInPlainWords(move)) continue;
      // An empty list of what is off: not every parser takes one.
      const bool moves = move.target != source || from_.env.target != to_.env.target;
      if (moves && IsIdle(source, runs_here) && BothUnused(value, Value())) continue;
      if (MeansAnother(source, from_.env, to_.env)) {
        Add(&out_.dropped, source, value, "",
            absl::StrCat(TargetName(to_.env), " evaluates on prompts: --eval-prompt-data NAME FILE --eval-interval N"));
        continue;
      }
      if (!Has(to_, move.target) && !SaidByOwnWords(move.target, to_.env)) {
        if (source == Knob::launch_num_gpus && to_.env.world_size.has_value()) continue;  // its launcher has the size
        if (!CarryParts(source, value))
          Add(&out_.dropped, source, value, "", WhyNoWord(source, from_.config, from_.env, to_.env));
        continue;
      }
      to_.config.Set(move.target, move.value, Origin::kCaller);
      moves_.push_back(std::move(move));
    }
  }

  // What the source leaves unset and the two stacks set differently, where it makes a difference to what runs.
  void PinDefaults() {
    const Config& source_defaults = DefaultsOf(from_.env);
    const Config target_defaults = to_.config;
    const RunResult here = Run(from_.config, from_.env);
    const RunResult there = Run(WriteForTarget(to_.config, to_.env), to_.env);
    const Config &runs_here = here.config, &runs_there = there.config;
    const Knob experts = Knob::num_moe_experts;
    const bool open = known_.hidden.contains(experts) || LeftOpen(experts, from_.env, from_.config, known_);
    for (int i = 0; i < kKnobCount; ++i) {
      const Knob knob = static_cast<Knob>(i);
      if (IsOfAnotherModel(knob, runs_here, /*dense=*/!open && IsDense(runs_here) && IsDense(runs_there))) continue;
      if (IsOfProcess(knob) || MeansAnother(knob, from_.env, to_.env) || IsMovedInContainer(knob, to_.env) ||
          CanonicalKnob(knob) != knob || seen_.count(knob) > 0 || !Has(to_, knob) || to_.config.Given(knob))
        continue;
      if (source_defaults.origin(knob) == Origin::kAbsent || LeftOpen(knob, from_.env, from_.config, known_)) continue;
      const Value& value = runs_here.Get(knob);
      // What one derives and the other leaves None, that works out from the same values when it needs it.
      const bool derived = SetByStack(here, "", knob) || SetByStack(there, "", knob);
      const bool early = !value.is_none() && IsAskedBeforeDerived(knob, to_.env);
      const bool set = early || SetByOwnCode(here, knob) || IsReadThereAlone(knob, from_.env, to_.env) ||
                       (derived && !runs_there.Get(knob).is_none());
      const bool same = SameValue(source_defaults.Get(knob), target_defaults.Get(knob)) && !set;
      if (same || (!early && MeansTheSame(value, runs_there.Get(knob)))) continue;
      if (IsIdle(knob, runs_here) && IsIdle(knob, runs_there)) continue;
      // Its new name has a default of its own.
      if (IsRenamed(knob, to_.env) || RenameFor(knob, value, from_.config, to_.env).has_value()) continue;
      Move move{knob, knob, value, ""};
      NameValue(&move);
      if (!TakesWord(knob, move.value, to_.env)) {
        Add(&out_.dropped, knob, value, "",
            absl::StrCat("the default of ", TargetName(from_.env), ", which ", TargetName(to_.env), " does not take"));
        continue;
      }
      to_.config.Set(knob, move.value, Origin::kCaller);
      pinned_.push_back({knob, knob, move.value,
                         absl::StrCat("unset means ", value.ToText(), " in ", TargetName(from_.env), " and ",
                                      runs_there.Get(knob).ToText(), " in ", TargetName(to_.env))});
    }
  }

  // A default of the source that the target refuses beside what is written is not written.
  void TakeBackRefusedPins() {
    const auto errors = [this] {
      std::vector<Finding> findings = Run(WriteForTarget(to_.config, to_.env), to_.env).findings;
      const auto rest = [](const Finding& finding) { return finding.severity != Severity::kError; };
      findings.erase(std::remove_if(findings.begin(), findings.end(), rest), findings.end());
      return findings;
    };
    for (const Finding& error : errors()) {
      const auto pin =
          std::find_if(pinned_.begin(), pinned_.end(), [&](const Move& move) { return Sees(error, move); });
      if (pin == pinned_.end()) continue;
      const Config before = to_.config;
      to_.config = Without(pin->target, to_.config);
      const std::vector<Finding> left = errors();
      if (std::any_of(left.begin(), left.end(), [&](const Finding& f) { return f.rule_id == error.rule_id; })) {
        to_.config = before;
        continue;
      }
      Add(&out_.dropped, pin->source, pin->value, "",
          absl::StrCat("the default of ", TargetName(from_.env), "; ", TargetName(to_.env), ": ", error.needs));
      pinned_.erase(pin);
    }
  }

  // Of rotary embeddings any number does, and a command line asks for one.
  void SayPositions() {
    if (!StackOf(to_.env).command_line || StackOf(from_.env).command_line) return;
    constexpr Knob kPositions = Knob::max_position_embeddings;
    const Value& length = to_.config.Get(Knob::seq_length);
    if (!to_.config.Given(Knob::num_layers) || to_.config.Given(kPositions) || !length.is_int()) return;
    to_.config.Set(kPositions, length, Origin::kCaller);
    pinned_.push_back(
        {kPositions, kPositions, length, absl::StrCat(TargetName(to_.env), " asks for it: the sequence's length")});
  }

  // Writes the launch.
  void Render() {
    const Config wanted = to_.config;
    to_.config = WriteForTarget(wanted, to_.env);
    ExportWhatSourceSets(to_.config, from_.env, &to_.env);
    out_.launch = Rendered(to_.config);
    if (ModelLeftOpen(from_.env, from_.config, known_)) AskForSizes(to_.env, to_.config, &out_.launch);
    const Launch& launch = out_.launch;
    for (const Knob knob : launch.unspelled) lost_.insert(CanonicalKnob(knob));
    for (const std::vector<Move>* moves : {&moves_, &pinned_}) {
      for (const Move& move : *moves) {
        if (Stands(WordThere(move.target))) continue;
        // Written all the same, by another of its words, if the launch differs without it.
        const Launch without = Rendered(WriteForTarget(Without(move.target, wanted), to_.env));
        if (without.argv == launch.argv && without.text == launch.text) lost_.insert(move.target);
      }
    }
    for (const std::string& word : plain_words_) AppendWord(word, /*for_shell=*/false, &out_.launch);
  }

  // Says what became of each knob. One that the target has no way to write is dropped, unless it runs the value anyway.
  // `runs_there`: what the written launch runs.
  void Report(const Config& runs_there) {
    const Config runs_here = Run(from_.config, from_.env).config;
    const auto lost = [&](const Move& move) { return lost_.count(move.target) > 0; };
    const auto runs_anyway = [&](Move move) {
      if (runs_here.origin(move.target) != Origin::kAbsent) move.value = runs_here.Get(move.target);
      NameValue(&move);
      return MeansTheSame(move.value, runs_there.Get(move.target));
    };
    for (const Move& move : moves_) {
      if (lost(move) && runs_anyway(move)) continue;
      const Value& value = from_.config.Get(move.source);
      if (lost(move)) {
        Add(&out_.dropped, move.source, value, "",
            absl::StrCat(TargetName(to_.env), " has the knob, and no way to write this value"));
        continue;
      }
      std::string spelling = WordThere(move.target);
      if (spelling == SpellingOf(move.source, from_.env) && move.why.empty()) continue;
      Add(&out_.converted, move.source, value, std::move(spelling), move.why);
    }
    for (const Move& move : pinned_) {
      if (lost(move) && runs_anyway(move)) continue;
      Add(lost(move) ? &out_.dropped : &out_.pinned_defaults, move.source, move.value,
          lost(move) ? "" : WordThere(move.target), move.why);
    }
  }

  const Side& from() const { return from_; }
  const Side& to() const { return to_; }

 private:
  struct Move {
    Knob source, target;
    Value value;
    std::string why;
  };

  // Gives the move the target's name of its value.
  void NameValue(Move* move) const {
    const std::optional<RenamedValue> named = ValueNameFor(move->target, move->value, to_.env);
    if (!named.has_value()) return;
    move->value = named->value;
    if (move->why.empty()) move->why = std::string(named->why);
  }

  Launch Rendered(const Config& config) const {
    return RenderDialect(OwnDialect(to_.env.target), {config, to_.env, to_.env.vars});
  }

  static bool Sees(const Finding& finding, const Move& move) {
    return std::any_of(finding.observed.begin(), finding.observed.end(),
                       [&](const Observed& seen) { return seen.name == Name(move.target); });
  }

  Config Without(Knob knob, Config config) const {
    config.Set(knob, DefaultsOf(to_.env).Get(knob), Origin::kDefault);
    return config;
  }

  // The target's word for the knob: its own, or that of the knob which was written in its place. Empty: it has none.
  std::string WordThere(Knob knob) const {
    std::string word = SpellingOf(knob, to_.env);
    if (Stands(word)) return word;
    if (word.empty() && SaidByOwnWords(knob, to_.env)) return OwnWordOf(knob);
    if (StackOf(to_.env).container) {
      for (const std::optional<Knob> field : {CommOverlapField(knob), MixedPrecisionField(knob)}) {
        if (field.has_value() && Stands(SpellingOf(*field, to_.env))) return SpellingOf(*field, to_.env);
      }
    }
    for (int i = 0; i < kKnobCount; ++i) {
      const auto own = static_cast<Knob>(i);
      if (own == knob || CanonicalKnob(own) != knob || !to_.config.Given(own)) continue;
      std::string instead = SpellingOf(own, to_.env);
      if (word.empty() || Stands(instead)) word = std::move(instead);
    }
    return word;
  }

  // The first word that the writer wrote for the knob, without its value; empty: it stands in a file.
  std::string OwnWordOf(Knob knob) const {
    for (const KnobWords& words : out_.launch.words) {
      if (words.knob != knob || words.argv >= out_.launch.argv.size()) continue;
      const std::string& word = out_.launch.argv[words.argv];
      return word.substr(0, word.find('='));
    }
    return "";
  }

  // Of the written launch.
  bool Stands(absl::string_view word) const {
    return !word.empty() &&
           std::any_of(out_.launch.argv.begin(), out_.launch.argv.end(), [word](absl::string_view arg) {
             while (absl::ConsumePrefix(&arg, "+")) continue;
             return absl::ConsumePrefix(&arg, word) && (arg.empty() || arg.front() == '=');
           });
  }

  // What no rule looks at, and a container has in sections of its own.
  bool CarryInPlainWords(const Move& move) {
    if (from_.env.target == to_.env.target) return false;
    ContainerWords words = WordsInContainer(move.target, move.value, to_.env);
    if (words.words.empty()) return false;
    Add(&out_.converted, move.source, move.value, words.name, move.why);
    std::move(words.words.begin(), words.words.end(), std::back_inserter(plain_words_));
    return true;
  }

  // The function that a container's launch starts from, which its own stack has too.
  bool CarryRecipe(Knob source) {
    const absl::string_view function = from_.config.Get(source).text();
    const bool own = source == Knob::launch_recipe && from_.env.target == to_.env.target;
    if (!own || !absl::EndsWith(function, "_config")) return false;
    to_.config.Set(source, Value(function), Origin::kCaller);
    return true;
  }

  // A word that only a command line has, as what it sets in the config classes; false where the target lacks those.
  bool CarryParts(Knob source, const Value& value) {
    if (from_.env.target == to_.env.target) return source == Knob::model_family;  // the model's file says it there too
    const auto parts = InOtherWords(source, value, from_.config);
    if (!parts.has_value()) return false;
    const auto taken = [this](const auto& part) { return Has(to_, part.first); };
    if (!parts->empty() && std::none_of(parts->begin(), parts->end(), taken)) return false;
    for (const auto& part : *parts) {
      const std::string word = SpellingOf(source, from_.env);
      Move move{source, part.first, part.second, absl::StrCat("what ", word.empty() ? Name(source) : word, " sets")};
      if (!taken(part)) {
        Add(&out_.dropped, part.first, part.second, "",
            absl::StrCat(move.why, "; ", TargetName(to_.env), " has no such knob"));
        continue;
      }
      NameValue(&move);
      to_.config.Set(move.target, move.value, Origin::kCaller);
      moves_.push_back(std::move(move));
    }
    if (parts->empty()) Add(&out_.converted, source, value, "", "what is written beside it says it");
    return true;
  }

  bool SetByOwnCode(const RunResult& run, Knob knob) const {
    const absl::string_view own = StackOf(from_.env).own_source;
    return !own.empty() && SetByStack(run, own, knob);
  }

  static const Config& DefaultsOf(const Environment& env) {
    return DefaultsFor(env.target, env.core_release, env.bridge_release, env.mla);
  }
  void Add(std::vector<ConvertedKnob>* list, Knob knob, const Value& value, std::string spelling, std::string reason) {
    list->push_back({std::string(Name(knob)), value, SpellingOf(knob, from_.env), std::move(spelling),
                     reason.empty() ? "spelled otherwise" : std::move(reason)});
  }

  const Side from_;
  Side to_;
  const Knowledge& known_;  // of the source
  ConvertedConfig& out_;
  std::set<Knob> seen_, lost_;  // lost: that the target has no way to write
  std::vector<Move> moves_, pinned_;
  std::vector<std::string> plain_words_;
};

}  // namespace

absl::StatusOr<ConvertedConfig> Convert(const ConvertQuestion& question) {
  absl::StatusOr<ReadConfig> read = Read(question.source);
  if (!read.ok()) return WithFieldsBelow("source", read.status());
  Reading reading = read->reading;
  if (read->env.target != question.target.target) {
    for (const PlainOverride& plain : ReadPlainOverrides(reading.args, read->env)) {
      if (plain.knob.has_value()) reading.parsed.knobs.push_back(*plain.knob);
    }
  }
  Side from{read->env, ConfigOf(reading.parsed.knobs, read->env)};
  Side to{question.target, {}};
  to.env.vars = from.env.vars;
  const bool nodes_assumed = KeepNodes(question.source, *read, &to.env);
  to.env.mla = from.env.mla;
  to.config = DefaultsFor(to.env.target, to.env.core_release, to.env.bridge_release, to.env.mla);

  ConvertedConfig out;
  out.source = Judge(*std::move(read));
  Conversion conversion(std::move(from), std::move(to), reading.knowledge, &out);
  conversion.CarryOver(reading.parsed.knobs);
  conversion.PinDefaults();
  conversion.TakeBackRefusedPins();
  conversion.SayPositions();
  conversion.Render();
  KeepJobLines(question.source, &out.launch);
  if (nodes_assumed || reading.knowledge.size_assumed) AskForAssumedNodes(conversion.to().env, &out.launch);
  std::vector<ConvertedKnob> others = CarryOtherFlags(reading, conversion.from().env, conversion.to().env, &out.launch);
  const bool open = ModelLeftOpen(conversion.from().env, conversion.from().config, reading.knowledge);
  const JudgeQuestion converted = ConvertedQuestion(question, conversion.to().env, out.launch, open);
  FLIGHTPLAN_ASSIGN_OR_RETURN(ReadConfig written, Read(converted));
  // What the source's script leaves to where it runs is no more certain in what was written from it.
  written.reading.knowledge.size_assumed |= reading.knowledge.size_assumed;
  conversion.Report(Run(written.config, written.env).config);
  std::move(others.begin(), others.end(), std::back_inserter(out.dropped));
  out.target = Judge(std::move(written));
  VetFixes(question.source.view, &out.source);
  VetFixes(converted.view, &out.target);
  return out;
}

}  // namespace flightplan
