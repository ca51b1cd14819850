#include "clients/cli/commands/commands.h"

namespace flightplan::cli {

int RunServe(Arguments args, Context& context) {
  (void)args;
  context.err += "flightplan serve: this build has no server\n";
  return kExitInternal;
}

}  // namespace flightplan::cli
