#include "clients/cli/commands/commands.h"
#include "clients/cli/man_page.h"
#include "service/version.h"

namespace flightplan::cli {

int RunMan(Arguments args, Context& context) {
  const CommandLine command{.name = "man",
                            .usage = "flightplan man",
                            .summary = "the manual page flightplan(1), as roff",
                            .example = "flightplan man | man -l -"};
  ParsedArguments parsed;
  if (const auto exit = ParseOrExit(command, args, context, &parsed)) return *exit;
  context.out += ManPage(CommandPages(), service::kVersion);
  return kExitOk;
}

}  // namespace flightplan::cli
