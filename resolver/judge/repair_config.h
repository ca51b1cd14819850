// The repair of a configuration: found by the engine, written into the caller's own text, and judged again there.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "resolver/engine/repair.h"
#include "resolver/judge/judge.h"
#include "resolver/judge/read_config.h"
#include "resolver/plan/finding.h"
#include "resolver/plan/judge_question.h"

namespace flightplan {

struct RepairedConfig {
  std::vector<RepairStep> steps;  // in order
  ConfigInput input;              // as repaired
  Patch unwritten;                // what has no place in it: variables beside arguments, knobs without a spelling
  // Of the input as repaired, not of what the repair intended; the unwritten variables are taken as set.
  JudgedConfig judged;
};

// It will not run, or not fit by the forecast; or is tight in memory where the question asks for room.
bool WantsRepair(const JudgeQuestion& question, const JudgedConfig& judged);

// `written`: what was read of the question, before the rules ran.
absl::StatusOr<RepairedConfig> RepairConfig(const JudgeQuestion& question, const ReadConfig& written);

}  // namespace flightplan
