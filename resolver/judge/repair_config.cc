#include "resolver/judge/repair_config.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "resolver/base/status_macros.h"
#include "resolver/base/work.h"
#include "resolver/judge/judge_launches.h"
#include "resolver/judge/vet_config.h"
#include "resolver/shell/launches.h"
#include "resolver/shell/line_ends.h"
#include "resolver/shell/reader.h"
#include "resolver/stacks/edit_launch.h"
#include "resolver/stacks/input_format.h"

namespace flightplan {
namespace {

Patch EditKnobs(const Patch& patch, std::vector<std::pair<Knob, Value>>* knobs) {
  Patch unwritten;
  for (const Assignment& assignment : patch) {
    if (!assignment.env_var.empty()) {
      unwritten.push_back(assignment);
      continue;
    }
    const auto at = std::lower_bound(knobs->begin(), knobs->end(), assignment.knob,
                                     [](const auto& pin, Knob knob) { return pin.first < knob; });
    if (at != knobs->end() && at->first == assignment.knob) {
      at->second = assignment.value;
    } else {
      knobs->emplace(at, assignment.knob, assignment.value);
    }
  }
  return unwritten;
}

// Puts the patch into the input; returns what has no place in it.
Patch Edit(const ReadConfig& written, const Patch& patch, ConfigInput* input) {
  const Reading& reading = written.reading;
  const WrittenLaunch launch{reading.args, reading.parsed.knobs};
  switch (input->form) {
    case ConfigInput::Form::kArguments: {
      EditedArguments edited = EditArguments(launch, patch, written.env);
      input->arguments = std::move(edited.args);
      return std::move(edited.unwritten);
    }
    case ConfigInput::Form::kFile: {
      const bool shell = reading.format == kShellFormat;
      const InputFormat* format = FindInputFormat(reading.format, written.env.target);
      const auto edit = format != nullptr ? format->edit : nullptr;
      if (format != nullptr && format->part && edit == nullptr) return patch;  // what it lacks may stand elsewhere
      const bool yaml = format != nullptr && format->file != nullptr;
      EditedText edited = edit != nullptr ? edit(input->text, reading.parsed.knobs, patch)
                          : yaml ? EditYaml(input->text, reading.parsed.knobs, patch, written.env, format->place)
                                 : EditArgumentFile(input->text, launch, patch, written.env, shell);
      input->text = std::move(edited.text);
      return std::move(edited.unwritten);
    }
    case ConfigInput::Form::kKnobs:
      return EditKnobs(patch, &input->knobs);
  }
  return patch;
}

// Other rounds of the command that is read: launches that differ from each other and from this one.
std::ptrdiff_t Others(const ReadConfig& read) {
  if (read.script == nullptr) return 0;
  const auto same = [&](const LaunchCommand& other) { return other.at.line == read.script->at.line; };
  return std::count_if(read.script->others.begin(), read.script->others.end(), same);
}

// Whether the edited input says what the patch says and, beside it, what it said before: that a round of a loop becomes
// what another one is was not meant.
bool ReadsBack(const ReadConfig& before, const ReadConfig& after, const Patch& patch) {
  if (Others(after) < Others(before)) return false;
  Config meant = before.config;
  for (const Assignment& assignment : patch) {
    if (assignment.env_var.empty()) meant.Set(assignment.knob, assignment.value, Origin::kCaller);
  }
  const auto same = [&](Knob knob) { return meant.Get(knob).ToText() == after.config.Get(knob).ToText(); };
  const auto kept = [&](const ParsedKnob& parsed) { return same(parsed.knob); };
  const auto set = [&](const Assignment& assignment) {
    const auto variable = after.env.vars.find(assignment.env_var);
    if (variable == after.env.vars.end()) return assignment.value.is_none();
    return !assignment.value.is_none() && variable->second == assignment.value.ToText();
  };
  const std::vector<ParsedKnob>&was = before.reading.parsed.knobs, &is = after.reading.parsed.knobs;
  return std::all_of(was.begin(), was.end(), kept) && std::all_of(is.begin(), is.end(), kept) &&
         std::all_of(patch.begin(), patch.end(),
                     [&](const Assignment& a) { return a.env_var.empty() ? same(a.knob) : set(a); });
}

absl::StatusOr<ReadConfig> ReadInput(JudgeQuestion question, const ConfigInput& input) {
  question.input = input;
  return Read(question);
}

Patch Without(const Patch& patch, const Patch& left) {
  Patch kept;
  for (const Assignment& assignment : patch) {
    const bool is_left = std::any_of(left.begin(), left.end(), [&](const Assignment& other) {
      return other.env_var == assignment.env_var && other.knob == assignment.knob;
    });
    if (!is_left) kept.push_back(assignment);
  }
  return kept;
}

// Edits, and reads the result: an assignment that cannot be read back as it is meant, or breaks the text around it, is
// left out and returned with what has no place.
Patch EditSafely(const JudgeQuestion& question, const ReadConfig& written, const Patch& patch, ConfigInput* input) {
  ConfigInput all = *input;
  Patch unwritten = Edit(written, patch, &all);
  const absl::StatusOr<ReadConfig> whole = ReadInput(question, all);
  if (whole.ok() && ReadsBack(written, *whole, Without(patch, unwritten))) {
    *input = std::move(all);
    // What met another edit has a place of its own once that one is done.
    const bool again = !unwritten.empty() && unwritten.size() < patch.size();
    return again ? EditSafely(question, *whole, unwritten, input) : unwritten;
  }
  unwritten.clear();
  ReadConfig at = written;
  for (const Assignment& assignment : patch) {
    ConfigInput one = *input;
    const bool placed = Edit(at, {assignment}, &one).empty();
    absl::StatusOr<ReadConfig> read = placed ? ReadInput(question, one) : absl::NotFoundError("no place");
    if (read.ok() && ReadsBack(at, *read, {assignment})) {
      *input = std::move(one);
      at = *std::move(read);
    } else {
      unwritten.push_back(assignment);
    }
  }
  return unwritten;
}

// What the caller states beside the text is changed there, which is theirs to do: returned, and taken for done.
Patch Restate(Patch* patch, JudgeQuestion* question) {
  Patch restated;
  const auto is_stated = [&](const Assignment& assignment) {
    if (!assignment.env_var.empty()) return false;
    const auto at = std::find_if(question->stated.begin(), question->stated.end(),
                                 [&](const auto& stated) { return stated.first == assignment.knob; });
    if (at == question->stated.end()) return false;
    at->second = assignment.value;
    restated.push_back(assignment);
    return true;
  };
  patch->erase(std::remove_if(patch->begin(), patch->end(), is_stated), patch->end());
  return restated;
}

void SetVariables(const Patch& patch, EnvVars* vars) {
  for (const Assignment& assignment : patch) {
    if (assignment.env_var.empty()) continue;
    if (assignment.value.is_none()) {
      vars->erase(assignment.env_var);
    } else {
      vars->insert_or_assign(assignment.env_var, assignment.value.ToText());
    }
  }
}

// The finding about memory that a repair is to remove; null: none.
const Finding* LackOfMemory(const JudgedConfig& judged, bool room) {
  const std::vector<Finding>& findings = judged.run.findings;
  const auto found = std::find_if(findings.begin(), findings.end(), [room](const Finding& finding) {
    return finding.rule_id == "fit.static-memory" || finding.rule_id == "fit.memory" ||
           (room && finding.rule_id == "fit.memory-marginal");
  });
  return found == findings.end() ? nullptr : &*found;
}

// What the engine does not see: the forecast of what was repaired may lie above the GPU's memory. Vets the fixes of
// what is judged and takes at most one step; true: it did, and nobody has vetted the fixes of what is judged now.
absl::StatusOr<bool> RepairMemory(JudgeQuestion* repaired, RepairedConfig* out) {
  const auto find_lack = [&] { return LackOfMemory(out->judged, repaired->repair_room); };
  // Of a repair's findings the errors alone are shown, in every view. A lack of memory may be a warning, whose fix is
  // wanted in every view as well.
  VetFixes(find_lack() == nullptr ? View::kVerdict : View::kFull, &out->judged);
  const Finding* const lacks = find_lack();
  if (lacks == nullptr || lacks->fixes.empty()) return false;
  RepairStep step{lacks->rule_id, lacks->fixes.front(), false};
  Patch patch = step.patch;
  if (!Restate(&patch, repaired).empty()) return false;
  FLIGHTPLAN_ASSIGN_OR_RETURN(const ReadConfig read, Read(*repaired));
  // A variable that has no place in the text is named beside it; a memory fix without one of its knobs is another one.
  ConfigInput edited = repaired->input;
  Patch unwritten = EditSafely(*repaired, read, step.patch, &edited);
  if (std::any_of(unwritten.begin(), unwritten.end(), [](const Assignment& a) { return a.env_var.empty(); })) {
    return false;
  }
  repaired->input = std::move(edited);
  SetVariables(unwritten, &repaired->env.vars);
  std::move(unwritten.begin(), unwritten.end(), std::back_inserter(out->unwritten));
  FLIGHTPLAN_ASSIGN_OR_RETURN(out->judged, ReadAndJudge(*repaired));
  out->steps.push_back(std::move(step));
  return true;
}

// The lines of the launch's command, where bash ends it earlier than was meant and it is plain what was. Each is told
// once the one before it is mended.
absl::StatusOr<std::vector<RepairStep>> MendLines(JudgeQuestion* question, ReadConfig* read) {
  constexpr size_t kMostMends = 16;
  std::vector<RepairStep> steps;
  while (read->reading.format == kShellFormat && steps.size() < kMostMends && Work::Affords(2 * read->work)) {
    std::optional<std::string> mended;
    for (const ParseFinding& told : read->reading.parsed.findings) {
      mended = MendedLines(question->input.text, told.finding.rule_id, told.at.line);
      if (!mended.has_value()) continue;
      steps.push_back({told.finding.rule_id, {}, false});
      break;
    }
    if (!mended.has_value() || *mended == question->input.text) break;
    question->input.text = *std::move(mended);
    FLIGHTPLAN_ASSIGN_OR_RETURN(*read, Read(*question));
  }
  return steps;
}

// The question becomes the one about what was repaired. The knobs of `kept` stay as they are.
absl::StatusOr<RepairedConfig> RepairOnce(const ReadConfig& written, const std::set<Knob>& kept,
                                          JudgeQuestion* question) {
  JudgeQuestion& repaired = *question;
  // Nothing was judged, so nothing is repaired: reading the text again would cost what it has cost. A repair reads what
  // it edits at least twice, and where that is more than is left the answer is worth more without one than none.
  constexpr uint64_t kReads = 3;
  if (written.reading.no_launch || !Work::Affords(kReads * written.work)) {
    RepairedConfig same;
    same.judged = Judge(written);
    same.input = repaired.input;
    return same;
  }
  RepairOptions options{repaired.repair_convergence};
  // What rests on values that stand elsewhere is no fault of the text.
  options.counts = [&](const Finding& finding) {
    return StandingOf(finding, written.env, written.reading.knowledge) == Standing::kFull;
  };
  options.kept = kept;
  Repair found = FindRepair(written.config, written.env, options);
  if (repaired.input.form != ConfigInput::Form::kKnobs) {
    repaired.input.format = written.reading.format;  // the repair must not change how it is read
  }
  RepairedConfig out;
  ReadConfig before = written;
  if (Patch restated = Restate(&found.patch, &repaired); !restated.empty()) {
    FLIGHTPLAN_ASSIGN_OR_RETURN(before, Read(repaired));
    out.unwritten = std::move(restated);
  }
  for (Assignment& left : EditSafely(repaired, before, found.patch, &repaired.input)) {
    out.unwritten.push_back(std::move(left));
  }
  SetVariables(out.unwritten, &repaired.env.vars);
  FLIGHTPLAN_ASSIGN_OR_RETURN(out.judged, ReadAndJudge(repaired));
  out.steps = std::move(found.steps);
  // What fits after one step may still be tight.
  bool stepped = true;
  for (int left = repaired.repair_room ? 2 : 1; stepped && left > 0; --left) {
    FLIGHTPLAN_ASSIGN_OR_RETURN(stepped, RepairMemory(&repaired, &out));
  }
  if (stepped) VetFixes(View::kVerdict, &out.judged);
  out.input = repaired.input;
  return out;
}

constexpr size_t kMostKept = 4;

// What the steps set of what decides the memory that the repaired launch lacks.
std::set<Knob> KnobsThatTakeRoom(const RepairedConfig& repaired) {
  std::set<Knob> knobs;
  const Finding* const lack = LackOfMemory(repaired.judged, false);
  if (lack == nullptr || lack->severity != Severity::kError) return knobs;
  const auto decides = [&](Knob knob) {
    return std::any_of(lack->observed.begin(), lack->observed.end(),
                       [knob](const Observed& seen) { return seen.name == Name(knob); });
  };
  for (const RepairStep& step : repaired.steps) {
    for (const Assignment& assignment : step.patch) {
      if (assignment.env_var.empty() && decides(assignment.knob)) knobs.insert(assignment.knob);
    }
  }
  return knobs;
}

// A layout that the GPUs have no room for is no repair: the launch is left as it was in that, and its fault told.
absl::StatusOr<RepairedConfig> RepairLaunch(const ReadConfig& written, JudgeQuestion* question) {
  ReadConfig mended = written;
  FLIGHTPLAN_ASSIGN_OR_RETURN(std::vector<RepairStep> steps, MendLines(question, &mended));
  const JudgeQuestion asked = *question;
  FLIGHTPLAN_ASSIGN_OR_RETURN(RepairedConfig out, RepairOnce(mended, {}, question));
  std::set<Knob> kept;
  for (std::set<Knob> more = KnobsThatTakeRoom(out); !more.empty(); more = KnobsThatTakeRoom(out)) {
    // It lacked memory before, or one fault's rules take turns.
    const bool lacked = kept.empty() && LackOfMemory(Judge(mended), false) != nullptr;
    if (lacked || kept.size() >= kMostKept) break;
    kept.merge(more);
    *question = asked;
    FLIGHTPLAN_ASSIGN_OR_RETURN(out, RepairOnce(mended, kept, question));
  }
  out.steps.insert(out.steps.begin(), std::make_move_iterator(steps.begin()), std::make_move_iterator(steps.end()));
  return out;
}

// The next launch of a script that is refused, once one runs; false: there is none, and none of it was repaired.
absl::StatusOr<bool> RepairNext(JudgeQuestion* asked, RepairedConfig* out) {
  asked->launch.reset();
  FLIGHTPLAN_ASSIGN_OR_RETURN(JudgedLaunches next, JudgeLaunches(*asked));
  if (!IsWorse(next.judged, out->judged) || next.judged.verdicts.will_run) return false;
  asked->launch = next.launch;
  FLIGHTPLAN_ASSIGN_OR_RETURN(RepairedConfig repaired, RepairLaunch(next.written, asked));
  const bool stepped = !repaired.steps.empty();
  std::move(repaired.steps.begin(), repaired.steps.end(), std::back_inserter(out->steps));
  std::move(repaired.unwritten.begin(), repaired.unwritten.end(), std::back_inserter(out->unwritten));
  out->input = std::move(repaired.input);
  out->judged = std::move(repaired.judged);
  return stepped;
}

}  // namespace

bool WantsRepair(const JudgeQuestion& question, const JudgedConfig& judged) {
  return !judged.verdicts.will_run || LackOfMemory(judged, question.repair_room) != nullptr;
}

absl::StatusOr<RepairedConfig> RepairConfig(const JudgeQuestion& question, const ReadConfig& written) {
  JudgeQuestion asked = question;
  FLIGHTPLAN_ASSIGN_OR_RETURN(RepairedConfig out, RepairLaunch(written, &asked));
  bool stepped = written.script != nullptr;
  for (size_t left = kMaxOtherLaunches; stepped && left > 0; --left) {
    FLIGHTPLAN_ASSIGN_OR_RETURN(stepped, RepairNext(&asked, &out));
  }
  return out;
}

}  // namespace flightplan
