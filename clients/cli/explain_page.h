// The pages of `flightplan explain`.
#pragma once

#include "absl/strings/string_view.h"
#include "clients/cli/command.h"
#include "flightplan/v1/catalog_service.pb.h"

namespace flightplan::cli {

// KnobInfo.knob_class of what is no knob: an environment variable, or a word to the launcher.
inline constexpr absl::string_view kVariableClass = "variable";

void PrintRule(const v1::RuleInfo& rule, Context& context);
// `rules`: all of them; those that look at the knob are named.
void PrintKnob(const v1::KnobInfo& knob, const v1::ListRulesResponse& rules, Context& context);
// An environment variable, or a word to the launcher, and the rules that look at it.
void PrintVariable(absl::string_view name, const v1::ListRulesResponse& rules, Context& context);
// The rules and knobs that have a word in their names, and the knobs whose value it is.
void PrintWord(absl::string_view word, const v1::ListKnobsResponse& valued, const v1::ListKnobsResponse& named,
               const v1::ListRulesResponse& rules, Context& context);

}  // namespace flightplan::cli
