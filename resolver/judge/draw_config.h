// The step of a finished configuration as events.
#pragma once

#include "absl/status/statusor.h"
#include "resolver/judge/judge.h"
#include "resolver/timeline/timeline.h"

namespace flightplan {

// Errors are those of DrawStep. INVALID_ARGUMENT where no GPU is named; FAILED_PRECONDITION where the step cannot be
// forecast: it says what is missing.
absl::StatusOr<Timeline> DrawConfig(const JudgedConfig& judged, const TimelineAsked& asked);

}  // namespace flightplan
