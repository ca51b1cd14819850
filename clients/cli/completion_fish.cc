#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "clients/cli/completion.h"
#include "clients/cli/name_lists.h"

namespace flightplan::cli {
namespace {

constexpr absl::string_view kHelpers = R"sh(
function __flightplan_needs_command
    test (count (commandline -opc)) -eq 1
end
function __flightplan_is --argument-names command
    set -l typed (commandline -opc)
    test (count $typed) -gt 1 -a "$typed[2]" = "$command"
end
function __flightplan_list --argument-names list
    set -l typed (commandline -opc)
    $typed[1] completion --list $list 2>/dev/null
end
function __flightplan_settings # KNOB=VALUE
    if string match -q '*=*' -- (commandline -ct)
        __flightplan_list @SETTINGS@
    else
        __flightplan_list @KNOBS@ | string replace -r '$' '='
    end
end
function __flightplan_commas # words, several of which may stand with commas between
    set -l before (string match -r '^.*,' -- (commandline -ct | string replace -r '^--[^=]*=' ''))
    printf '%s\n' "$before"$argv
end
complete -c flightplan -f
)sh";

// Within single quotes.
std::string Quoted(absl::string_view text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"'", "\\'"}}), "'");
}

// What is offered, as the option -a; empty: nothing but files, or nothing.
std::string Offered(const Values& values) {
  const std::string words = absl::StrJoin(values.words, " ");
  if (values.commas) return absl::StrCat(" -a ", Quoted(absl::StrCat("(__flightplan_commas ", words, ")")));
  if (values.list == kKnobSettings) return " -a '(__flightplan_settings)'";
  if (!values.list.empty()) return absl::StrCat(" -a ", Quoted(absl::StrCat("(__flightplan_list ", values.list, ")")));
  if (!values.words.empty()) return absl::StrCat(" -a ", Quoted(words));
  return values.folders ? " -a '(__fish_complete_directories (commandline -ct))'" : "";
}

std::string FlagLine(absl::string_view start, const Flag& flag) {
  std::string line = absl::StrCat(start, " -l ", flag.name.substr(2));
  if (!flag.value_name.empty()) {
    const Values values = ValuesOf(flag);
    absl::StrAppend(&line, values.files ? " -r -F" : " -x", Offered(values));
  }
  return absl::StrCat(line, flag.help.empty() ? "" : absl::StrCat(" -d ", Quoted(flag.help)), "\n");
}

}  // namespace

std::string FishCompletion(const std::vector<CommandPage>& pages) {
  std::string text = absl::StrReplaceAll(kHelpers.substr(1), {{"@SETTINGS@", kKnobSettings}, {"@KNOBS@", kKnobNames}});
  for (const CommandPage& page : pages) {
    absl::StrAppend(&text, "complete -c flightplan -n __flightplan_needs_command -a ", page.table.name, " -d ",
                    Quoted(page.summary), "\n");
  }
  for (const CommandPage& page : pages) {
    const CommandLine& command = page.table;
    const std::string start = absl::StrCat("complete -c flightplan -n '__flightplan_is ", command.name, "'");
    const std::string offered = Offered(command.positional);
    if (command.positional.files || !offered.empty()) {
      absl::StrAppend(&text, start, command.positional.files ? " -F" : "", offered, "\n");
    }
    for (const FlagGroup& group : command.groups) {
      for (const Flag& flag : group.flags) text += FlagLine(start, flag);
    }
    absl::StrAppend(&text, start, " -l help -d 'how to use it'\n");
  }
  return text;
}

}  // namespace flightplan::cli
