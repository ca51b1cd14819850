#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/mcp/server.h"
#include "clients/cli/mcp/skill.h"
#include "clients/cli/rpc/peer.h"
#include "clients/cli/whole_file.h"

namespace flightplan::cli {
namespace {

constexpr int kWorkers = 2;  // so that a question is answered beside a search

// DIR/flightplan/SKILL.md.
absl::StatusOr<std::string> InstallSkill(const std::string& folder) {
  const std::filesystem::path target = std::filesystem::path(folder) / "flightplan";
  std::error_code error;
  std::filesystem::create_directories(target, error);
  if (error) return absl::InvalidArgumentError(absl::StrCat("cannot make ", target.string(), ": ", error.message()));
  const std::string file = (target / "SKILL.md").string();
  const absl::Status status = WriteWholeFile(file, SkillText());
  return status.ok() ? absl::StatusOr<std::string>(file) : status;
}

}  // namespace

int RunMcp(Arguments args, Context& context) {
  std::string folder;
  BackendOptions where;
  const CommandLine command{
      .name = "mcp",
      .usage = "flightplan mcp [--server ADDRESS] | --install-skill DIR",
      .summary =
          "a server of the Model Context Protocol on standard input and output: resolve, validate, fix, plan, compare, "
          "explain and more as tools; it reads no file and runs nothing",
      .example =
          "flightplan mcp\n"
          "# in the settings of a client: {\"mcpServers\": {\"flightplan\": {\"command\": \"flightplan\", \"args\": "
          "[\"mcp\"]}}}\n"
          "flightplan mcp --install-skill skills",
      .groups = {{"skill",
                  {{"--install-skill", "DIR", "write DIR/flightplan/SKILL.md (when to ask what), and end",
                    ToText(&folder, {.folders = true})}}},
                 BackendFlags(&where)}};
  ParsedArguments parsed;
  if (const auto exit = ParseOrExit(command, args, context, &parsed)) return *exit;
  if (!folder.empty()) {
    const absl::StatusOr<std::string> file = InstallSkill(folder);
    if (!file.ok()) return NotWritten(command, file.status(), context);
    absl::StrAppend(&context.out, context.terminal.Shown(*file), "\n");
    return kExitOk;
  }
  const absl::StatusOr<std::shared_ptr<Backend>> backend = MakeBackend(where, context);
  if (!backend.ok()) return Misuse(command, backend.status().message(), context);
  McpServer server(*backend);
  RpcPeer peer(STDOUT_FILENO, {.framing = Framing::kLines, .workers = kWorkers});
  peer.Serve(server.Methods(&peer));
  (void)peer.Run(STDIN_FILENO);  // lines cannot be broken
  const int error = peer.write_error();
  if (error == 0 || error == EPIPE) return kExitOk;
  return NotWritten(command, absl::DataLossError(absl::StrCat("cannot write standard output: ", std::strerror(error))),
                    context);
}

}  // namespace flightplan::cli
