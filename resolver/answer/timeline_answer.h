// A drawn step as a message.
#pragma once

#include "resolver/timeline/timeline.h"

namespace flightplan {

namespace v1 {  // generated from proto/flightplan/v1
class DescribeTimelineResponse;
}  // namespace v1

// All fields but those that are about the answer (digest, revision, target, verdict).
void TimelineToMessage(const Timeline& timeline, v1::DescribeTimelineResponse* response);

}  // namespace flightplan
