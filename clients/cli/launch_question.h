// The question about a launch file, as every command asks it.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "clients/cli/backend.h"

namespace flightplan::cli {

// A file gets the question that every door asks about it: its stack, its job's GPUs and variables. Returned: why there
// is nothing to ask; empty: there is. What has no file, or an input format that the caller names, stays as it is.
absl::StatusOr<std::string> AskAsTheDoorsDo(Backend& backend, v1::ValidateConfigRequest* request);

}  // namespace flightplan::cli
