// `flightplan evidence` and `flightplan replay`.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "clients/cli/command.h"

namespace flightplan::cli {

// As Failed. A file that is no store is a slip on the command line; only a server can be silent.
int FailedStore(const CommandLine& command, absl::string_view location, const absl::Status& status, Context& context);

int RunEvidence(Arguments args, Context& context);
int RunReplay(Arguments args, Context& context);

}  // namespace flightplan::cli
