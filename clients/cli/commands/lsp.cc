#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/lsp/server.h"
#include "clients/cli/rpc/peer.h"

namespace flightplan::cli {

int RunLsp(Arguments args, Context& context) {
  BackendOptions where;
  bool stdio = false;
  const CommandLine command{
      .name = "lsp",
      .usage = "flightplan lsp [--stdio] [--server ADDRESS]",
      .summary =
          "a language server on standard input and output: findings, hover, completion and repairs in scripts, "
          "argument "
          "files and YAML. A script says its machine in a comment of its own: # flightplan: --gpu h100-sxm --gpus 64",
      .example =
          "flightplan lsp\n"
          "# for Helix, in languages.toml: [language-server.flightplan] command = \"flightplan\", args = [\"lsp\"]",
      .groups = {{"editor", {{"--stdio", "", "as without it; editors add it", ToSwitch(&stdio)}}},
                 BackendFlags(&where)}};
  ParsedArguments parsed;
  if (const auto exit = ParseOrExit(command, args, context, &parsed)) return *exit;
  const absl::StatusOr<std::shared_ptr<Backend>> backend = MakeBackend(where, context);
  if (!backend.ok()) return Misuse(command, backend.status().message(), context);
  LspServer server(*backend);
  bool whole = false;
  int error = 0;
  {
    RpcPeer peer(STDOUT_FILENO, {.framing = Framing::kHeaders, .workers = 1, .answers_cancelled = true});
    peer.Serve(server.Methods(&peer));
    whole = peer.Run(STDIN_FILENO);
    server.Finish();
    error = peer.write_error();
  }
  if (error != 0 && error != EPIPE) {
    return NotWritten(
        command, absl::DataLossError(absl::StrCat("cannot write standard output: ", std::strerror(error))), context);
  }
  if (!whole) return Misuse(command, "a message without a header that can be read: \"Content-Length: N\"", context);
  return server.left_early() ? kExitFindings : kExitOk;
}

}  // namespace flightplan::cli
