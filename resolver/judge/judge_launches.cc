#include "resolver/judge/judge_launches.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "resolver/base/path.h"
#include "resolver/base/status_macros.h"
#include "resolver/base/work.h"
#include "resolver/judge/tell_launches.h"
#include "resolver/plan/stack.h"
#include "resolver/shell/reader.h"
#include "resolver/shell/state.h"

namespace flightplan {
namespace {

// That a launch is judged costs less than this, in units of base/work.h.
constexpr uint64_t kJudgeCosts = uint64_t{1} << 16;

int BadnessOf(const JudgedConfig& judged) {
  if (!judged.verdicts.accepted_by_stack) return 3;
  if (!judged.verdicts.will_run) return 2;
  const auto warns = [](const Finding& finding) {
    return finding.severity == Severity::kWarning && finding.rule_id != kOtherLaunches;
  };
  const auto of_reader = [&warns](const ParseFinding& entry) { return warns(entry.finding); };
  const std::vector<Finding>& found = judged.run.findings;
  const std::vector<ParseFinding>& parsed = judged.reading.parsed.findings;
  return std::any_of(found.begin(), found.end(), warns) || std::any_of(parsed.begin(), parsed.end(), of_reader) ? 1 : 0;
}

// Of the script's own program: what another one makes of such words is not known.
bool IsOfStack(const LaunchCommand& other, const LaunchCommand& last, const Stack& stack) {
  if (FileName(other.script) == FileName(last.script)) return true;
  return stack.marks.launch != nullptr && stack.marks.launch(absl::AsciiStrToLower(other.script), other.args);
}

ToldLaunch NotJudged(const LaunchCommand& command, int number, absl::string_view why) {
  return {.command = &command,
          .number = number,
          .outcome = absl::StrCat("not judged: ", why),
          .judged = false,
          .refused = true};
}

// What is said of a launch that was judged.
ToldLaunch Told(const LaunchCommand& command, int number, const JudgedConfig& judged) {
  std::vector<const Finding*> errors;
  std::set<absl::string_view> rules;
  const auto add = [&](const Finding& finding) {
    if (finding.severity != Severity::kError) return;
    errors.push_back(&finding);
    rules.insert(finding.rule_id);
  };
  for (const ParseFinding& entry : judged.reading.parsed.findings) add(entry.finding);
  for (const Finding& finding : judged.run.findings) add(finding);
  ToldLaunch told{.command = &command, .number = number, .outcome = "accepted", .refused = !judged.verdicts.will_run};
  for (const ParsedKnob& knob : judged.reading.parsed.knobs) told.knob_words.insert(knob.at.index);
  if (judged.set_aside.errors) told.outcome = "not judged in full, nothing that it shows is refused";
  if (errors.empty()) {
    if (BadnessOf(judged) > 0) absl::StrAppend(&told.outcome, ", with warnings");
    return told;
  }
  told.outcome =
      absl::StrCat(judged.verdicts.accepted_by_stack ? "will fail later" : "rejected by the stack", ", ", errors.size(),
                   errors.size() == 1 ? " error" : " errors", " (", absl::StrJoin(rules, ", "), ")");
  told.first = errors.front()->seen;
  told.needs = errors.front()->needs;
  return told;
}

// The launches of one script, in its order.
class Launches {
 public:
  Launches(const JudgeQuestion& question, std::shared_ptr<const ShellLaunch> script, const Environment& env,
           JudgedLaunches* out)
      : question_(question), script_(std::move(script)), stack_(StackOf(env)), out_(*out) {
    all_ = static_cast<int>(script_->others.size()) + script_->others_left_out + 1;
  }

  absl::Status Judge() {
    const std::vector<LaunchCommand>& others = script_->others;
    const ToldLaunch last = Told(*script_, all_, out_.judged);
    for (size_t i = 0; i < others.size(); ++i) {
      FLIGHTPLAN_RETURN_IF_ERROR(JudgeOther(i));
    }
    const ToldLaunch* shown = &last;
    if (worst_.has_value()) {
      FLIGHTPLAN_RETURN_IF_ERROR(Show(*worst_));
      told_.push_back(last);
      std::swap(told_[*worst_], shown_);
      told_.erase(told_.begin() + static_cast<std::ptrdiff_t>(*worst_));
      shown = &shown_;
    }
    Tell(*shown);
    return absl::OkStatus();
  }

 private:
  absl::Status JudgeOther(size_t i) {
    const LaunchCommand& other = script_->others[i];
    const int number = static_cast<int>(i) + 1;
    if (!IsOfStack(other, *script_, stack_)) {
      told_.push_back(NotJudged(other, number, "it runs another program"));
      return absl::OkStatus();
    }
    if (!Work::Affords(2 * kJudgeCosts)) {
      told_.push_back(NotJudged(other, number, "the script takes too much work"));
      return absl::OkStatus();
    }
    Work::Spend(kJudgeCosts);
    absl::StatusOr<ReadConfig> read = Read(question_, {script_, i});
    if (absl::IsCancelled(read.status())) return read.status();
    if (!read.ok()) {
      told_.push_back(NotJudged(other, number, read.status().message()));
      return absl::OkStatus();
    }
    const JudgedConfig judged = flightplan::Judge(*std::move(read), View::kVerdict);
    told_.push_back(Told(other, number, judged));
    in_part_ = in_part_ || judged.set_aside.errors;
    if (const int badness = BadnessOf(judged); badness > std::max(worst_badness_, BadnessOf(out_.judged))) {
      worst_badness_ = badness;
      worst_ = i;
    }
    return absl::OkStatus();
  }

  // Judges it again as the question asks it.
  absl::Status Show(size_t worst) {
    FLIGHTPLAN_ASSIGN_OR_RETURN(ReadConfig read, Read(question_, {script_, worst}));
    out_.launch = script_->others[worst].ordinal;
    if (question_.repair) {
      out_.written = read;
      out_.written.script = script_;
    }
    out_.judged = flightplan::Judge(std::move(read), question_.view);
    return absl::OkStatus();
  }

  // In place of what the reader says of them.
  void Tell(const ToldLaunch& shown) {
    std::vector<ParseFinding>& findings = out_.judged.reading.parsed.findings;
    findings.erase(std::remove_if(findings.begin(), findings.end(),
                                  [](const ParseFinding& entry) { return entry.finding.rule_id == kOtherLaunches; }),
                   findings.end());
    KeepFindings(TellLaunches(told_, shown, all_), &findings);
    const auto is_left = [](const ToldLaunch& told) { return !told.judged; };
    out_.judged.reading.launches_left =
        in_part_ || script_->others_left_out > 0 || std::any_of(told_.begin(), told_.end(), is_left);
    if (script_->others_left_out == 0) return;
    ParseFinding more = MakeParseFinding(
        script_->at, kOtherLaunches, Severity::kWarning,
        absl::StrCat(script_->others_left_out, " more launches of a training"),
        absl::StrCat("at most ", kMaxOtherLaunches + 1, " of a script are judged: its first ones and the last"),
        kScriptSource);
    KeepFinding(std::move(more), &findings);
  }

  const JudgeQuestion& question_;
  const std::shared_ptr<const ShellLaunch> script_;
  const Stack& stack_;
  JudgedLaunches& out_;
  int all_ = 0;
  std::vector<ToldLaunch> told_;  // the others
  ToldLaunch shown_;
  std::optional<size_t> worst_;  // of the others, where it is worse than the last
  int worst_badness_ = 0;
  bool in_part_ = false;
};

}  // namespace

bool IsWorse(const JudgedConfig& a, const JudgedConfig& b) { return BadnessOf(a) > BadnessOf(b); }

absl::StatusOr<JudgedLaunches> JudgeLaunches(const JudgeQuestion& question) {
  FLIGHTPLAN_ASSIGN_OR_RETURN(ReadConfig read, Read(question));
  JudgedLaunches out;
  // Kept for a repair alone: the rules change both, in place where nobody else holds them.
  if (question.repair) out.written = read;
  const std::shared_ptr<const ShellLaunch> script = read.script;
  out.judged = Judge(std::move(read), question.view);
  if (script == nullptr) return out;
  out.launch = script->ordinal;
  FLIGHTPLAN_RETURN_IF_ERROR(Launches(question, script, out.judged.env, &out).Judge());
  return out;
}

}  // namespace flightplan
