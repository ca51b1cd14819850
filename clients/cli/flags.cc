#include "clients/cli/flags.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "clients/cli/text.h"
#include "resolver/base/integers.h"
#include "resolver/base/nearest.h"

namespace flightplan::cli {
namespace {

const Flag* Find(const CommandLine& command, absl::string_view name) {
  for (const FlagGroup& group : command.groups) {
    for (const Flag& flag : group.flags) {
      if (flag.name == name) return &flag;
    }
  }
  return nullptr;
}

absl::Status UnknownFlag(const CommandLine& command, absl::string_view name) {
  std::vector<absl::string_view> known;
  for (const FlagGroup& group : command.groups) {
    for (const Flag& flag : group.flags) known.push_back(flag.name);
  }
  const absl::string_view nearest = NearestName(name, known);
  return absl::InvalidArgumentError(absl::StrCat("unknown flag ", Cut(Harmless(name), 60, "..."),
                                                 nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?")));
}

absl::Status Misplaced(absl::string_view name, const absl::Status& status) {
  return absl::InvalidArgumentError(absl::StrCat(name, " ", status.message()));
}

absl::Status Wants(absl::string_view what, absl::string_view text) {
  return absl::InvalidArgumentError(absl::StrCat("wants ", what, ", not ", Quoted(text)));
}

absl::Status WantsNumber(absl::string_view what, absl::string_view text) {
  return absl::InvalidArgumentError(absl::StrCat(Wants(what, text).message(), MeantInDigits(text)));
}

constexpr absl::string_view kEmpty = "is empty, as with a shell variable that is not set";
constexpr int kTitleWidth = 10;
constexpr int kFlagWidth = 27;

std::string Padded(absl::string_view text, int width) {
  const int room = width - DisplayWidth(text);
  return absl::StrCat(text, std::string(static_cast<size_t>(std::max(1, room)), ' '));
}

// One line for each flag that has a help text; the others share lines: "--tp N  --pp N".
void AppendGroup(const FlagGroup& group, const Terminal& terminal, std::string* out) {
  std::string title = terminal.Paint(Padded(group.title, kTitleWidth), Style::kBold);
  const std::string blank(kTitleWidth, ' ');
  std::vector<std::string> shared;
  for (const Flag& flag : group.flags) {
    const std::string spelled = absl::StrCat(flag.name, flag.value_name.empty() ? "" : " ", flag.value_name);
    if (flag.help.empty()) {
      shared.push_back(spelled);
      continue;
    }
    absl::StrAppend(out, std::exchange(title, blank), Padded(spelled, kFlagWidth), terminal.Shown(flag.help), "\n");
  }
  for (const std::string& line : WrapParts(shared, "  ", terminal.width - kTitleWidth)) {
    absl::StrAppend(out, std::exchange(title, blank), line, "\n");
  }
}

}  // namespace

absl::StatusOr<ParsedArguments> ParseArguments(const CommandLine& command, absl::Span<const std::string> args) {
  ParsedArguments parsed;
  for (size_t i = 0; i < args.size(); ++i) {
    const absl::string_view arg = args[i];
    if (arg == "--help" || arg == "-h") {
      parsed.help = true;
      return parsed;
    }
    if (arg == "--" && command.takes_rest) {
      parsed.rest.emplace(args.begin() + static_cast<std::ptrdiff_t>(i) + 1, args.end());
      break;
    }
    if (arg.empty()) return absl::InvalidArgumentError(absl::StrCat("an argument ", kEmpty));
    if (arg.size() < 2 || arg[0] != '-') {  // "-" is standard input
      if (parsed.positional.size() >= command.max_positional) {
        return absl::InvalidArgumentError(absl::StrCat("unexpected argument ", Quoted(arg)));
      }
      parsed.positional.emplace_back(arg);
      continue;
    }
    const std::pair<absl::string_view, absl::string_view> halves = absl::StrSplit(arg, absl::MaxSplits('=', 1));
    const Flag* flag = Find(command, halves.first);
    if (flag == nullptr) return UnknownFlag(command, halves.first);
    absl::string_view value = "true";
    if (absl::StrContains(arg, '=')) {
      value = halves.second;
    } else if (!flag->value_name.empty()) {
      if (i + 1 >= args.size())
        return Misplaced(flag->name, absl::InvalidArgumentError(absl::StrCat("wants ", flag->value_name)));
      value = args[++i];
    }
    // Taken for a flag that was not given, it would ask another question than the caller means.
    if (value.empty() && !flag->value_name.empty() && !flag->set.takes_empty) {
      return Misplaced(flag->name, absl::InvalidArgumentError(absl::StrCat(kEmpty, "; it wants ", flag->value_name)));
    }
    if (const absl::Status status = flag->set.take(value); !status.ok()) return Misplaced(flag->name, status);
  }
  return parsed;
}

std::string HelpText(const CommandLine& command, const Terminal& terminal) {
  std::string out =
      absl::StrCat("flightplan ", command.name, ": ", command.summary, "\n\nusage: ", command.usage, "\n");
  absl::StrAppend(&out, "\n");
  for (const FlagGroup& group : command.groups) AppendGroup(group, terminal, &out);
  absl::StrAppend(&out, "\nexample:");
  for (absl::string_view line : absl::StrSplit(command.example, '\n')) absl::StrAppend(&out, "\n  ", line);
  return absl::StrCat(out, "\n");
}

Flag::Setter ToText(std::string* target, Values values) {
  return {[target](absl::string_view text) {
            *target = std::string(text);
            return absl::OkStatus();
          },
          std::move(values)};
}

Flag::Setter ToText(std::optional<std::string>* target) {
  return {[target](absl::string_view text) {
    *target = std::string(text);
    return absl::OkStatus();
  }};
}

Flag::Setter ToSwitch(bool* target) {
  return {[target](absl::string_view text) {
            if (text != "true" && text != "false") return Wants("no value", text);
            *target = text == "true";
            return absl::OkStatus();
          },
          {},
          ValueType::kSwitch};
}

Flag::Setter ToList(std::vector<std::string>* target) {
  return {[target](absl::string_view text) {
            target->emplace_back(text);
            return absl::OkStatus();
          },
          {},
          ValueType::kList};
}

Flag::Setter ToCommaList(std::vector<std::string>* target, Values values) {
  values.commas = true;
  return {[target](absl::string_view text) {
            for (absl::string_view item : absl::StrSplit(text, ',', absl::SkipWhitespace())) target->emplace_back(item);
            return absl::OkStatus();
          },
          std::move(values), ValueType::kList};
}

Flag::Setter ToInteger(std::optional<int64_t>* target, int64_t least) {
  return {[target, least](absl::string_view text) {
            int64_t value = 0;
            if (!absl::SimpleAtoi(text, &value) || value < least) {
              return WantsNumber(absl::StrCat("an integer of at least ", least), text);
            }
            *target = value;
            return absl::OkStatus();
          },
          {},
          ValueType::kInteger,
          static_cast<double>(least)};
}

Flag::Setter ToReal(std::optional<double>* target, double least, double most) {
  return {[target, least, most](absl::string_view text) {
            double value = 0;
            if (!absl::SimpleAtod(text, &value) || !(value >= least && value <= most)) {
              return Wants(std::isinf(most) ? absl::StrCat("a number of at least ", least)
                                            : absl::StrCat("a number of ", least, " to ", most),
                           text);
            }
            *target = value;
            return absl::OkStatus();
          },
          {},
          ValueType::kReal,
          least,
          std::isinf(most) ? std::nullopt : std::make_optional(most)};
}

Flag::Setter ToChoice(std::string* target, std::vector<absl::string_view> choices) {
  Values values = KnownWords(choices);
  return {[target, choices = std::move(choices)](absl::string_view text) {
            if (std::find(choices.begin(), choices.end(), text) == choices.end()) {
              return Wants(absl::StrCat("one of ", absl::StrJoin(choices, ", ")), text);
            }
            *target = std::string(text);
            return absl::OkStatus();
          },
          std::move(values), ValueType::kWord};
}

}  // namespace flightplan::cli
