#include <string>
#include <vector>

#include "clients/cli/commands/commands.h"
#include "service/server.h"

namespace flightplan::cli {

// The server has its own flags, help and output: it runs until it is told to stop.
int RunServe(Arguments args, Context& /*context*/) {
  return service::ServeMain(std::vector<std::string>(args.begin(), args.end()));
}

}  // namespace flightplan::cli
