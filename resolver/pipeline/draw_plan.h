// The step of a plan as events.
#pragma once

#include "absl/status/statusor.h"
#include "resolver/pipeline/resolved_plan.h"
#include "resolver/timeline/timeline.h"

namespace flightplan {

// Errors are those of DrawStep. FAILED_PRECONDITION where the plan has no forecast of its step.
absl::StatusOr<Timeline> DrawPlan(const ResolvedPlan& plan, const TimelineAsked& asked);

}  // namespace flightplan
