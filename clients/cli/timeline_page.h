// A timeline for a terminal: a narrow picture of each view, and the totals.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "clients/cli/terminal.h"
#include "flightplan/v1/timeline.pb.h"

namespace flightplan::cli {

// `heading`: whose step it is. Lines are at most as wide as the terminal; pictures are at most 160 wide.
std::string TimelineText(const v1::DescribeTimelineResponse& timeline, absl::string_view heading,
                         const Terminal& terminal);

// Totals by kind, exposed and hidden, beside the forecast's; and the ranks.
std::string TimelineTable(const v1::DescribeTimelineResponse& timeline, absl::string_view heading,
                          const Terminal& terminal);

}  // namespace flightplan::cli
