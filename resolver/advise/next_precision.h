// The step from BF16 to FP8. It changes the numerics, so that it is said, stands behind the other steps, and no repair
// takes it.
#pragma once

#include <optional>

#include "resolver/advise/move.h"
#include "resolver/plan/intent.h"

namespace flightplan {

// Nothing where the GPU has no FP8 recipe, the stack or the Transformer Engine would not run it, the caller has spoken,
// memory comes first, or the forecast gains little.
std::optional<Finding> FindNextPrecision(const NormalizedIntent& intent, const StepModel& model,
                                         const PlanForecast& plan);

}  // namespace flightplan
