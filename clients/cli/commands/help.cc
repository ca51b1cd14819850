#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "clients/cli/commands/commands.h"

namespace flightplan::cli {

int RunHelp(Arguments args, Context& context) {
  if (!args.empty() && FindCommand(args[0]) != nullptr && args[0] != "help") {
    return RunCommandLine(std::vector<std::string>{args[0], "--help"}, context);
  }
  if (!args.empty() && args[0] != "help") return RunCommandLine({args[0]}, context);  // says what is nearest
  absl::StrAppend(&context.out, "flightplan: the launch that the training stack will accept, before the queue\n\n");
  for (const Command& command : Commands()) {
    const std::string name = absl::StrCat(command.name, "             ").substr(0, 13);
    absl::StrAppend(&context.out, "  ", context.terminal.Paint(name, Style::kBold), command.summary, "\n");
  }
  absl::StrAppend(&context.out,
                  "\nflightplan help COMMAND has its flags. Try:\n"
                  "  flightplan resolve --model deepseek-v3 --gpu h100-sxm --gpus 1024 --tp 2 --pp 8 --vpp 4 --ep 64\n"
                  "\nexit codes\n"
                  "  0 fine   1 findings of level error   2 the command line makes no sense\n"
                  "  3 the server did not answer   4 a fault of flightplan itself\n");
  return kExitOk;
}

}  // namespace flightplan::cli
