#include "clients/cli/completion.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "clients/cli/command.h"

namespace flightplan::cli {
namespace {

struct Shell {
  absl::string_view name;
  std::string (*script)(const std::vector<CommandPage>& pages);
  absl::string_view first_line;  // zsh finds the script of a command by it
};
constexpr Shell kShells[] = {
    {"bash", BashCompletion, ""}, {"zsh", ZshCompletion, "#compdef flightplan\n"}, {"fish", FishCompletion, ""}};

}  // namespace

std::vector<CommandPage> CommandPages() {
  std::vector<CommandPage> pages;
  for (const Command& command : Commands()) pages.push_back({command.summary, TableOf(command)});
  return pages;
}

Values ValuesOf(const Flag& flag) {
  Values values = flag.set.values;
  values.files = values.files || absl::StartsWith(flag.value_name, "FILE") || absl::EndsWith(flag.value_name, "|FILE");
  values.folders = values.folders || flag.value_name == "DIR";
  return values;
}

std::vector<absl::string_view> CompletionShells() {
  std::vector<absl::string_view> names;
  for (const Shell& shell : kShells) names.push_back(shell.name);
  return names;
}

std::string CompletionScript(absl::string_view shell, absl::string_view version) {
  for (const Shell& row : kShells) {
    if (row.name != shell) continue;
    return absl::StrCat(row.first_line, "# Completion of flightplan ", version, " for ", shell,
                        ". Printed by `flightplan completion ", shell, "`.\n", row.script(CommandPages()));
  }
  return "";
}

}  // namespace flightplan::cli
