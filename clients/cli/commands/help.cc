#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/text.h"

namespace flightplan::cli {
namespace {

constexpr int kExitWidth = 78;  // of the lines of exit codes

}  // namespace

int RunHelp(Arguments args, Context& context) {
  if (context.table != nullptr) {
    *context.table = {.name = "help",
                      .usage = "flightplan help [COMMAND]",
                      .summary = "help, or help of one command",
                      .example = "flightplan help resolve",
                      .max_positional = 1};
    for (const Command& command : Commands()) context.table->positional.words.emplace_back(command.name);
    return kExitOk;
  }
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
                  "\nexit codes\n");
  std::vector<std::string> codes;
  for (const ExitMeaning& exit : kExitMeanings) codes.push_back(absl::StrCat(exit.code, " ", exit.meaning));
  for (const std::string& line : WrapParts(codes, "   ", kExitWidth)) absl::StrAppend(&context.out, "  ", line, "\n");
  return kExitOk;
}

}  // namespace flightplan::cli
