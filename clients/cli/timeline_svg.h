// A timeline as one self-contained SVG picture: a panel a view, a legend, and what must be known beside it. Dark where
// the reader's page is dark; every colour has a hatch of its own.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "flightplan/v1/timeline.pb.h"

namespace flightplan::cli {

// `heading`: whose step it is, "deepseek-v3 on 1,024 x h100-sxm"; text of anybody's.
std::string TimelineSvg(const v1::DescribeTimelineResponse& timeline, absl::string_view heading);

}  // namespace flightplan::cli
