// Where a citation of upstream's code can be read in a browser.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace flightplan::cli {

// "Megatron-LM:megatron/core/parallel_state.py:882" as a link to that line, at the commit or tag that was read
// (resolver/catalog/releases.yaml). Empty: it cites no file that is known by its line.
std::string SourceLink(absl::string_view citation);

}  // namespace flightplan::cli
