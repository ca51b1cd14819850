// A timeline as Chrome trace events, which Perfetto and chrome://tracing open: a process a pipeline rank, a thread a
// stream.
#pragma once

#include <string>

#include "flightplan/v1/timeline.pb.h"

namespace flightplan::cli {

// The views that the answer has. Of several, the processes of each come after those of the one before.
std::string TimelineTrace(const v1::DescribeTimelineResponse& timeline);

}  // namespace flightplan::cli
