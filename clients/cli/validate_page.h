// What `flightplan validate` prints for a person.
#pragma once

#include <string>

#include "clients/cli/terminal.h"
#include "flightplan/v1/resolver_service.pb.h"

namespace flightplan::cli {

// `input`: what was judged, "pretrain.sh", "arguments", "knobs".
std::string RenderValidatePage(const std::string& input, const v1::ValidateConfigResponse& response, bool verbose,
                               const Terminal& terminal);

}  // namespace flightplan::cli
