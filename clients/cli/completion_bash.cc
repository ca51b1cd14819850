#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "clients/cli/completion.h"
#include "clients/cli/name_lists.h"

namespace flightplan::cli {
namespace {

// The three tables are functions that set variables of the caller; what follows is the same for every command.
constexpr absl::string_view kScript = R"sh(
_flightplan() {
  COMPREPLY=()
  # The line is split anew: bash has split it at = and : and @, too.
  local line=${COMP_LINE:0:COMP_POINT} word previous='' dashes='' flags='' words='' list='' files='' folders='' commas=''
  local -a typed
  read -ra typed <<<"$line"
  case $line in *[[:space:]]) typed+=('') ;; esac
  local count=${#typed[@]}
  local current=${typed[count - 1]} command=${typed[1]:-}
  local value=$current
  if ((count <= 2)); then
    words=$_flightplan_commands
  else
    for word in "${typed[@]:2:count-3}"; do
      previous=$word
      [[ $word == -- ]] && dashes=yes
    done
    [[ $dashes ]] && ! _flightplan_rest "$command" && return
    _flightplan_flags "$command" || return
    if [[ $current == --*=* ]] && _flightplan_value "$command" "${current%%=*}"; then
      value=${current#*=}
    elif [[ $previous == --?* && $previous != *=* ]] && _flightplan_value "$command" "$previous"; then
      :
    elif [[ $current == -* ]]; then
      words=$flags
    else
      _flightplan_arguments "$command"
    fi
  fi
  if [[ $list == @SETTINGS@ && $value != *=* ]]; then
    words=$("${typed[0]}" completion --list @KNOBS@ 2>/dev/null)
    words=${words//$'\n'/=$'\n'}=
    compopt -o nospace 2>/dev/null
  elif [[ $list ]]; then
    words+=" $("${typed[0]}" completion --list "$list" 2>/dev/null)"
  fi
  # Where nothing of ours fits, bash offers names of files; not where none is wanted.
  if [[ $folders ]]; then
    compopt +o default -o dirnames 2>/dev/null
  elif [[ ! $files ]]; then
    compopt +o default 2>/dev/null
  fi
  # Only what follows the last character of COMP_WORDBREAKS is replaced; an @ is replaced with it.
  local before=${current%"$value"} cut='' i
  [[ $commas && $value == *,* ]] && before+=${value%,*},
  for ((i = ${#current}; i > 0; i--)); do
    word=${current:i-1:1}
    [[ $word == [=:@] && $COMP_WORDBREAKS == *"$word"* ]] || continue
    cut=${current:0:i}
    [[ $word == @ ]] && cut=${current:0:i-1}
    break
  done
  local IFS=$' \t\n'
  for word in $(compgen -W "$words" -- "${current#"$before"}"); do
    word=$before$word
    COMPREPLY+=("${word#"$cut"}")
  done
}
complete -o default -F _flightplan flightplan
)sh";

// Assignments to the variables of _flightplan.
std::string Assignments(const Values& values) {
  std::string text;
  if (!values.words.empty()) absl::StrAppend(&text, " words='", absl::StrJoin(values.words, " "), "'");
  if (!values.list.empty()) absl::StrAppend(&text, " list=", values.list);
  if (values.files) text += " files=yes";
  if (values.folders) text += " folders=yes";
  if (values.commas) text += " commas=yes";
  return text.empty() ? " :" : text;
}

std::string Replaced(std::string text, absl::string_view mark, absl::string_view with) {
  const size_t at = text.find(std::string(mark));
  return text.replace(at, mark.size(), std::string(with));
}

}  // namespace

std::string BashCompletion(const std::vector<CommandPage>& pages) {
  std::vector<absl::string_view> names;
  std::string flags = "_flightplan_flags() { # COMMAND\n  case $1 in\n";
  std::string value =
      "# Fails where the flag takes no value.\n_flightplan_value() { # COMMAND FLAG\n  case \"$1 $2\" in\n";
  std::string arguments = "_flightplan_arguments() { # COMMAND\n  case $1 in\n";
  std::string rest = "# Whether flags of the command stand after --.\n_flightplan_rest() { # COMMAND\n  case $1 in\n";
  for (const CommandPage& page : pages) {
    const CommandLine& command = page.table;
    names.push_back(command.name);
    std::vector<absl::string_view> spelled;
    for (const FlagGroup& group : command.groups) {
      for (const Flag& flag : group.flags) {
        spelled.push_back(flag.name);
        if (flag.value_name.empty()) continue;
        absl::StrAppend(&value, "    '", command.name, " ", flag.name, "')", Assignments(ValuesOf(flag)), " ;;\n");
      }
    }
    spelled.push_back("--help");
    absl::StrAppend(&flags, "    ", command.name, ") flags='", absl::StrJoin(spelled, " "), "' ;;\n");
    absl::StrAppend(&arguments, "    ", command.name, ")", Assignments(command.positional), " ;;\n");
    if (command.rest_has_flags) absl::StrAppend(&rest, "    ", command.name, ") ;;\n");
  }
  const std::string otherwise = "    *) return 1 ;;\n  esac\n}\n";
  return absl::StrCat(
      "_flightplan_commands='", absl::StrJoin(names, " "), "'\n", flags, otherwise, value, otherwise, arguments,
      otherwise, rest, otherwise,
      Replaced(Replaced(std::string(kScript.substr(1)), "@SETTINGS@", kKnobSettings), "@KNOBS@", kKnobNames));
}

}  // namespace flightplan::cli
