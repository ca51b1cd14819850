// A finished configuration from the command line into a request.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "clients/cli/command.h"
#include "clients/cli/flags.h"
#include "clients/cli/request.h"

namespace flightplan::cli {

// What is judged into the request, and its name for people. INVALID_ARGUMENT: none, or more than one; a file that does
// not read.
absl::StatusOr<std::string> FillConfig(const ParsedArguments& parsed, const StackOptions& stack, const Context& context,
                                       v1::ValidateConfigRequest* request);

}  // namespace flightplan::cli
