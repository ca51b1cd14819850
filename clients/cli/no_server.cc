// The server's commands in a build without the server (FLIGHTPLAN_SERVER=OFF): what to do instead.
#include <string>

#include "absl/strings/str_cat.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/commands/evidence.h"

namespace flightplan::cli {
namespace {

int Refuse(absl::string_view command, Context& context) {
  absl::StrAppend(&context.err, "flightplan ", command,
                  ": this build answers on a terminal and has no server; deploy/quickstart.sh ", command,
                  " builds it with the server, and wheel, package and image have it\n");
  return kExitMisuse;
}

}  // namespace

int RunServe(Arguments /*args*/, Context& context) { return Refuse("serve", context); }
int RunEvidence(Arguments /*args*/, Context& context) { return Refuse("evidence", context); }
int RunReplay(Arguments /*args*/, Context& context) { return Refuse("replay", context); }
std::string ServeConfigSchema() { return ""; }

}  // namespace flightplan::cli
