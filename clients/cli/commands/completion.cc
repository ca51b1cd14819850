#include "clients/cli/completion.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/name_lists.h"
#include "clients/cli/text.h"
#include "service/version.h"

namespace flightplan::cli {

int RunCompletion(Arguments args, Context& context) {
  std::string list;
  BackendOptions where;
  const std::vector<absl::string_view> shells = CompletionShells();
  const CommandLine command{
      .name = "completion",
      .usage = "flightplan completion bash|zsh|fish | --list NAME",
      .summary = "completion of commands, flags and values for a shell, as a script to be sourced",
      .example =
          "source <(flightplan completion bash)    # in ~/.bashrc\n"
          "source <(flightplan completion zsh)     # in ~/.zshrc, after compinit\n"
          "flightplan completion fish | source     # in ~/.config/fish/config.fish",
      .max_positional = 1,
      .groups = {{"script",
                  {{"--list", "NAME", "what a script asks while you type: names, one a line",
                    ToChoice(&list, NameLists())}}},
                 BackendFlags(&where)},
      .positional = KnownWords(shells)};
  ParsedArguments parsed;
  if (const auto exit = ParseOrExit(command, args, context, &parsed)) return *exit;
  if (list.empty() == parsed.positional.empty()) {
    return Misuse(command, absl::StrCat("wants a shell: ", absl::StrJoin(shells, ", "), "; or --list NAME"), context);
  }
  if (list.empty()) {
    const std::string script = CompletionScript(parsed.positional[0], service::kVersion);
    if (script.empty()) {
      return Misuse(
          command,
          absl::StrCat("there is none for ", Quoted(parsed.positional[0]), ", but for ", absl::StrJoin(shells, ", ")),
          context);
    }
    context.out += script;
    return kExitOk;
  }
  const absl::StatusOr<std::shared_ptr<Backend>> backend = MakeBackend(where, context);
  if (!backend.ok()) return Misuse(command, backend.status().message(), context);
  const absl::StatusOr<std::vector<std::string>> names = NamesOf(list, **backend);
  if (!names.ok()) return Failed(command, names.status(), context);
  for (const std::string& name : *names) absl::StrAppend(&context.out, name, "\n");
  return kExitOk;
}

}  // namespace flightplan::cli
