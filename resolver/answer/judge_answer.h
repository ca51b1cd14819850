// Writes judgements on finished configurations as the bytes of their answers.
#pragma once

#include "absl/strings/string_view.h"
#include "resolver/answer/resolve_answer.h"
#include "resolver/judge/convert_config.h"
#include "resolver/judge/judge.h"
#include "resolver/judge/repair_config.h"
#include "resolver/plan/config_answer.h"
#include "resolver/plan/intent.h"

namespace flightplan {

// As much of the judgement as `view` asks for. `repaired`: null where no repair was asked for or none is needed.
ConfigAnswer AnswerOf(const JudgedConfig& judged, const RepairedConfig* repaired, View view, AnswerOrigin origin);

// On a text that launches no training that is known, and why.
ConfigAnswer AnswerNothing(absl::string_view why, AnswerOrigin origin);

// The answer has no verdict and no digest of its own.
ConfigAnswer AnswerOf(const ConvertedConfig& converted);

}  // namespace flightplan
