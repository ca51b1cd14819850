// Another number of virtual stages, or the layers given to the stages otherwise, where the bubble is a wall and the
// caller or a decision has settled what a search would weigh.
#pragma once

#include <optional>

#include "resolver/advise/move.h"
#include "resolver/plan/intent.h"

namespace flightplan {

// Nothing where the bubble is small, the sizes were left to a search, or no other pipeline gains.
std::optional<Finding> FindNextPipeline(const NormalizedIntent& intent, const StepModel& model,
                                        const PlanForecast& plan, const StepOutlook& outlook);

}  // namespace flightplan
