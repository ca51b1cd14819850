// What bash makes of the ends of a launch's lines that was not meant; the launch is read here as it was.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "resolver/plan/reading.h"
#include "resolver/shell/words.h"

namespace flightplan {

// Lines that end as on Windows, and a byte order mark before the first.
void JudgeLineEnds(absl::string_view script, std::vector<ParseFinding>* findings);

// Blanks in place of a byte order mark: a first line is read as it was meant, and places stay.
std::string WithoutMark(absl::string_view script);

// Whether a command right behind a launch is flags of that launch: "--bf16 ...", "${MODEL_ARGS[@]} --bf16 ...".
bool IsRestOfLaunch(WordSpan words);

// The script with the lines of its launch joined where one of those findings says that they are not: without carriage
// returns, without a byte order mark, without empty lines in a command, with its comments in front of it and with a
// backslash where one is wanted. `line`: the finding's, from 1. Nothing: it is no such finding, or what was meant is
// not plain.
std::optional<std::string> MendedLines(absl::string_view script, absl::string_view rule_id, int line);

// A launch whose further flags are a command of their own, which begins at `at`; below 0: in another file.
void JudgeContinuation(absl::string_view script, int at, std::vector<ParseFinding>* findings);

}  // namespace flightplan
