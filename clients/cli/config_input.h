// A finished configuration from the command line into a request.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "clients/cli/command.h"
#include "clients/cli/flags.h"
#include "clients/cli/request.h"

namespace flightplan::cli {

// The question about one configuration into the request: what is judged, and what `*stack` says of it, under which goes
// what a file says of itself. Returned: its name for people. INVALID_ARGUMENT: none, or more than one; a file that does
// not read.
absl::StatusOr<std::string> FillConfig(const ParsedArguments& parsed, const Context& context, StackOptions* stack,
                                       v1::ValidateConfigRequest* request);

}  // namespace flightplan::cli
