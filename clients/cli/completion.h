// Completion scripts for shells, written from the commands' own tables. They are text to be sourced or installed; only
// long lists of names are asked for, by calling the program, while a person types.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "clients/cli/flags.h"

namespace flightplan::cli {

struct CommandPage {
  absl::string_view summary;  // its line in `flightplan help`
  CommandLine table;
};
// Every command, in the order of the help.
std::vector<CommandPage> CommandPages();

// What completes a flag's value: what its setter knows, and names of files where the value is called FILE or DIR.
Values ValuesOf(const Flag& flag);

// "bash", "zsh", "fish".
std::vector<absl::string_view> CompletionShells();
// The script for one of them; empty for another shell. `version`: of this program.
std::string CompletionScript(absl::string_view shell, absl::string_view version);

// ---- one function a shell

std::string BashCompletion(const std::vector<CommandPage>& pages);
std::string ZshCompletion(const std::vector<CommandPage>& pages);
std::string FishCompletion(const std::vector<CommandPage>& pages);

}  // namespace flightplan::cli
