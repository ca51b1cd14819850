// A script with several launches: each is judged, and the verdict is the worst of theirs.
#pragma once

#include <optional>

#include "absl/status/statusor.h"
#include "resolver/judge/judge.h"
#include "resolver/judge/read_config.h"

namespace flightplan {

struct JudgedLaunches {
  JudgedConfig judged;  // the worst; of several the last of the script, else the first. Its findings tell the others
  ReadConfig written;   // what was read of it, before the rules ran; only where the question asks for a repair
  std::optional<int> launch;  // JudgeQuestion's, of the one that was judged
};

// Of a script with one launch, and of any other input, Read and Judge. Errors are those of Read.
absl::StatusOr<JudgedLaunches> JudgeLaunches(const JudgeQuestion& question);

// Whether `a` has the worse verdict: refused by the stack, will not run, has warnings, has none.
bool IsWorse(const JudgedConfig& a, const JudgedConfig& b);

}  // namespace flightplan
