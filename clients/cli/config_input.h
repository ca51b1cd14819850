// A finished configuration from the command line into a request.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "clients/cli/backend.h"
#include "clients/cli/flags.h"
#include "clients/cli/request.h"

namespace flightplan::cli {

// What is judged into the request, and its name for people. INVALID_ARGUMENT: none, or more than one; a file that does
// not read.
absl::StatusOr<std::string> FillConfig(const ParsedArguments& parsed, const StackOptions& stack,
                                       v1::ValidateConfigRequest* request);

// A file gets the question that every door asks about it: its stack, its job's GPUs and variables. Returned: why there
// is nothing to ask; empty: there is.
absl::StatusOr<std::string> AskAsTheDoorsDo(Backend& backend, v1::ValidateConfigRequest* request);

}  // namespace flightplan::cli
