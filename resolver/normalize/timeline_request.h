// What is asked of a drawn step.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "resolver/plan/timeline_asked.h"

namespace flightplan {

namespace v1 {  // generated from proto/flightplan/v1
class DescribeTimelineRequest;
}  // namespace v1

// INVALID_ARGUMENT with all field violations: neither a question nor a configuration, or numbers out of their range.
absl::StatusOr<TimelineAsked> NormalizeTimeline(const v1::DescribeTimelineRequest& request);

// An INVALID_ARGUMENT "field: what is wrong", found once the pipeline was known, as a violation of that field. Other
// statuses stay as they are.
absl::Status AsViolation(const absl::Status& status);

}  // namespace flightplan
