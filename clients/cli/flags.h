// A small command-line parser: each command has a table of flags, which is also its help.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "clients/cli/terminal.h"

namespace flightplan::cli {

// What a value may be, as far as a shell can complete it. Nothing is checked by it.
struct Values {
  std::vector<std::string> words;  // known words
  absl::string_view list;          // a list of name_lists.h, for names that would make a script long: "gpus"
  bool files = false;              // names of files
  bool folders = false;            // names of folders
  bool commas = false;             // several, with commas between
};

template <class Names>
Values KnownWords(const Names& names) {
  Values values;
  for (const auto& name : names) values.words.emplace_back(name);
  return values;
}

// How a value is written, for programs that fill in a form by the table instead of typing.
enum class ValueType { kText, kSwitch, kInteger, kReal, kWord, kList };  // kWord: one of Values::words; kList: repeats

struct Flag {
  struct Setter {
    // Takes the value as written; an error says what would be right ("wants an integer of at least 1, not 'x'").
    std::function<absl::Status(absl::string_view)> take;
    Values values;
    ValueType type = ValueType::kText;
    std::optional<double> least = std::nullopt;  // of kInteger and kReal
    std::optional<double> most = std::nullopt;   // of kReal
    bool takes_empty = false;                    // an empty value means something
  };

  absl::string_view name;        // "--gpus"
  absl::string_view value_name;  // "N"; empty: a switch, whose setter gets "true". FILE and DIR are names of such
  absl::string_view help;        // empty: self-explaining, and shares a line of help with its like
  Setter set;
};

struct FlagGroup {
  absl::string_view title;
  std::vector<Flag> flags;
};

struct CommandLine {
  absl::string_view name;     // "resolve"
  absl::string_view usage;    // "flightplan resolve --model NAME|config.json --gpu NAME --gpus N [flags]"
  absl::string_view summary;  // one sentence
  absl::string_view example;  // a command that works as it stands, or several, one a line
  size_t max_positional = 0;
  bool takes_rest = false;  // arguments after "--" are passed on
  std::vector<FlagGroup> groups;
  Values positional;            // what its arguments may be
  bool rest_has_flags = false;  // after "--" stand flags of this command again
};

struct ParsedArguments {
  std::vector<std::string> positional;
  std::optional<std::vector<std::string>> rest;  // after "--", which may be empty
  bool help = false;
};

// `--name value`, `--name=value`; of a flag given twice the last one holds, unless its setter collects. Errors are
// INVALID_ARGUMENT and name the nearest flag.
absl::StatusOr<ParsedArguments> ParseArguments(const CommandLine& command, absl::Span<const std::string> args);

std::string HelpText(const CommandLine& command, const Terminal& terminal);

// Setters. The target must outlive the table. `values`: what is offered for completion; any text is taken.
Flag::Setter ToText(std::string* target, Values values = {});
Flag::Setter ToText(std::optional<std::string>* target);
Flag::Setter ToSwitch(bool* target);
Flag::Setter ToList(std::vector<std::string>* target);                           // one item each time
Flag::Setter ToCommaList(std::vector<std::string>* target, Values values = {});  // a,b,c each time
Flag::Setter ToInteger(std::optional<int64_t>* target, int64_t least = 1);
Flag::Setter ToReal(std::optional<double>* target, double least, double most);
Flag::Setter ToChoice(std::string* target, std::vector<absl::string_view> choices);

}  // namespace flightplan::cli
