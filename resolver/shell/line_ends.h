// What bash makes of the ends of a launch's lines that was not meant; the launch is read here as it was.
#pragma once

#include <vector>

#include "absl/strings/string_view.h"
#include "resolver/plan/reading.h"
#include "resolver/shell/words.h"

namespace flightplan {

// Lines that end as on Windows.
void JudgeLineEnds(absl::string_view script, std::vector<ParseFinding>* findings);

// Whether a command right behind a launch is flags of that launch: "--bf16 ...", "${MODEL_ARGS[@]} --bf16 ...".
bool IsRestOfLaunch(WordSpan words);

// A launch whose further flags are a command of their own, which begins at `at`; below 0: in another file.
void JudgeContinuation(absl::string_view script, int at, std::vector<ParseFinding>* findings);

}  // namespace flightplan
