#include "resolver/judge/repair_config.h"

#include <algorithm>
#include <string>
#include <utility>

#include "resolver/base/status_macros.h"
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
      if (format != nullptr && format->part) return patch;  // no text of ours is put into a program
      const bool yaml = format != nullptr && format->file != nullptr;
      EditedText edited = yaml ? EditYaml(input->text, reading.parsed.knobs, patch, written.env)
                               : EditArgumentFile(input->text, launch, patch, written.env, shell);
      input->text = std::move(edited.text);
      return std::move(edited.unwritten);
    }
    case ConfigInput::Form::kKnobs:
      return EditKnobs(patch, &input->knobs);
  }
  return patch;
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

}  // namespace

absl::StatusOr<RepairedConfig> RepairConfig(const JudgeQuestion& question, const ReadConfig& written) {
  RepairOptions options{question.repair_convergence};
  // What rests on values that stand elsewhere is no fault of the text.
  options.counts = [&written](const Finding& finding) {
    return StandingOf(finding, written.env, written.reading.knowledge) == Standing::kFull;
  };
  Repair found = FindRepair(written.config, written.env, options);
  JudgeQuestion repaired = question;
  if (repaired.input.form != ConfigInput::Form::kKnobs) {
    repaired.input.format = written.reading.format;  // the repair must not change how it is read
  }
  RepairedConfig out;
  out.unwritten = Edit(written, found.patch, &repaired.input);
  SetVariables(out.unwritten, &repaired.env.vars);
  FLIGHTPLAN_ASSIGN_OR_RETURN(out.judged, ReadAndJudge(repaired));
  out.steps = std::move(found.steps);
  out.input = std::move(repaired.input);
  return out;
}

}  // namespace flightplan
