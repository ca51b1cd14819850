#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "clients/cli/completion.h"
#include "clients/cli/name_lists.h"

namespace flightplan::cli {
namespace {

constexpr absl::string_view kHelpers = R"sh(
_flightplan_list() { # options of compadd, then the name of the list
  local -a names
  names=(${(f)"$($_flightplan_program completion --list ${@[-1]} 2>/dev/null)"})
  compadd "${@[1,-2]}" -a names
}
_flightplan_list_or_files() { _flightplan_list "$@"; _files }
_flightplan_words_or_files() { compadd "$@"; _files }
_flightplan_settings() { # KNOB=VALUE
  if [[ $PREFIX == *=* ]]; then
    _flightplan_list "$@" @SETTINGS@
  else
    _flightplan_list "$@" -S = @KNOBS@
  fi
}
)sh";

constexpr absl::string_view kEnd = R"sh(
if [[ $funcstack[1] == _flightplan ]]; then # found in $fpath
  _flightplan "$@"
else # sourced, after compinit
  compdef _flightplan flightplan
fi
)sh";

// Within single quotes.
std::string Quoted(absl::string_view text) { return absl::StrReplaceAll(text, {{"'", "'\\''"}}); }
std::string Explained(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"[", "\\["}, {"]", "\\]"}, {"'", "'\\''"}});
}
std::string Message(absl::string_view text) { return absl::StrReplaceAll(text, {{":", "\\:"}, {"'", "'\\''"}}); }

// The part of a specification of _arguments that says what a value may be.
std::string Action(const Values& values) {
  const std::string words = absl::StrJoin(values.words, " ");
  if (values.commas) return absl::StrCat("_values -s , value ", words);
  if (values.list == kKnobSettings) return "_flightplan_settings";
  if (!values.list.empty()) {
    return absl::StrCat(values.files ? "_flightplan_list_or_files " : "_flightplan_list ", values.list);
  }
  if (!values.words.empty() && values.files) return absl::StrCat("_flightplan_words_or_files ", words);
  if (!values.words.empty()) return absl::StrCat("(", words, ")");
  if (values.folders) return "_files -/";
  return values.files ? "_files" : " ";  // a blank: any value, and none is offered
}

std::string Arguments(const CommandLine& command) {
  std::string text = "_arguments";
  // Without -S flags are completed after --, too.
  if (command.takes_rest && !command.rest_has_flags) text += " -S";
  text += " '(- *)'{-h,--help}'[how to use it]'";
  for (const FlagGroup& group : command.groups) {
    for (const Flag& flag : group.flags) {
      const std::string help = flag.help.empty() ? "" : absl::StrCat("[", Explained(flag.help), "]");
      absl::StrAppend(&text, " \\\n        ");
      if (flag.value_name.empty()) {
        absl::StrAppend(&text, "'", flag.name, help, "'");
      } else {  // the last one of several holds, or all of them: so it may stand again
        absl::StrAppend(&text, "'*", flag.name, "=", help, ":", Message(flag.value_name), ":", Action(ValuesOf(flag)),
                        "'");
      }
    }
  }
  if (command.max_positional > 0 || command.takes_rest) {
    absl::StrAppend(&text, " \\\n        '", command.max_positional == 1 && !command.takes_rest ? "1" : "*",
                    ":argument:", Action(command.positional), "'");
  }
  return text;
}

}  // namespace

std::string ZshCompletion(const std::vector<CommandPage>& pages) {
  std::string commands, cases;
  for (const CommandPage& page : pages) {
    absl::StrAppend(&commands, "        '", page.table.name, ":", Quoted(page.summary), "'\n");
    absl::StrAppend(&cases, "      ", page.table.name, ")\n        ", Arguments(page.table), " && ret=0\n        ;;\n");
  }
  return absl::StrCat(
      absl::StrReplaceAll(kHelpers.substr(1), {{"@SETTINGS@", kKnobSettings}, {"@KNOBS@", kKnobNames}}),
      "_flightplan() {\n"
      "  local curcontext=$curcontext _flightplan_program=${(Q)words[1]} state state_descr line ret=1\n"
      "  typeset -A opt_args\n"
      "  _arguments -C '(- *)'{-h,--help}'[the commands]' '1:command:->command' '*::argument:->argument' && ret=0\n"
      "  case $state in\n"
      "    command)\n"
      "      local -a commands\n"
      "      commands=(\n",
      commands,
      "      )\n"
      "      _describe -t commands command commands && ret=0\n"
      "      ;;\n"
      "    argument)\n"
      "      case $words[1] in\n",
      cases,
      "      esac\n"
      "      ;;\n"
      "  esac\n"
      "  return ret\n"
      "}\n",
      kEnd.substr(1));
}

}  // namespace flightplan::cli
