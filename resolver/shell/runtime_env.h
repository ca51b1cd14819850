// `ray job submit --runtime-env-json '{"env_vars": {...}}' -- python train.py`: the variables of the process that is
// run.
#pragma once

#include <optional>

#include "absl/types/span.h"
#include "resolver/shell/state.h"

namespace flightplan {

// Of the words in front of the Python file. A variable whose value only a run would know is left out. Nothing: there
// are variables, and only a run would know which.
std::optional<EnvVars> ReadRuntimeEnv(absl::Span<const ShellWord> launcher);

}  // namespace flightplan
