// How a run of a plan shows that what was decided is on (resolver/catalog/log_lines.yaml).
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "clients/cli/terminal.h"
#include "flightplan/v1/resolver_service.pb.h"

namespace flightplan::cli {

// For every feature that the plan has on and of which something is known.
std::string LogPart(const v1::ResolveConfigResponse& plan, absl::string_view stack, const Terminal& terminal);

// "prints "Start CUDA Graphs capture..." (cuda_graphs.py:2759)" of each value that the knob may have.
std::vector<std::string> LogTexts(absl::string_view knob);

}  // namespace flightplan::cli
