// `flightplan evidence` and `flightplan replay`.
#pragma once

#include "clients/cli/command.h"

namespace flightplan::cli {

int RunEvidence(Arguments args, Context& context);
int RunReplay(Arguments args, Context& context);

}  // namespace flightplan::cli
