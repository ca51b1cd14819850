// What an A/B would settle, with the commands of both sides.
#pragma once

#include <string>

#include "clients/cli/terminal.h"
#include "flightplan/v1/resolver_service.pb.h"

namespace flightplan::cli {

std::string AbPart(const v1::ResolveConfigResponse& response, const Terminal& terminal);

}  // namespace flightplan::cli
