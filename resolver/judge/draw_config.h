// The step of a finished configuration as events.
#pragma once

#include "absl/status/statusor.h"
#include "resolver/judge/judge.h"
#include "resolver/timeline/timeline.h"

namespace flightplan {

// Errors are those of DrawStep. FAILED_PRECONDITION where nothing is known to forecast the step from: it says what is
// missing.
absl::StatusOr<Timeline> DrawConfig(const JudgedConfig& judged, const TimelineAsked& asked);

}  // namespace flightplan
