// What `flightplan convert` says beside the converted launch.
#pragma once

#include <string>

#include "clients/cli/terminal.h"
#include "flightplan/v1/resolver_service.pb.h"

namespace flightplan::cli {

// What is spelled otherwise, what had to be written because the defaults differ, what has no counterpart, and what the
// target finds in the result. `target`: as the caller wrote it.
std::string RenderConvertReport(const v1::ConvertConfigResponse& response, absl::string_view target, bool verbose,
                                const Terminal& terminal);

}  // namespace flightplan::cli
