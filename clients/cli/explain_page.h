// The pages of `flightplan explain`.
#pragma once

#include "clients/cli/command.h"
#include "flightplan/v1/catalog_service.pb.h"

namespace flightplan::cli {

void PrintRule(const v1::RuleInfo& rule, Context& context);
// `rules`: all of them; those that look at the knob are named.
void PrintKnob(const v1::KnobInfo& knob, const v1::ListRulesResponse& rules, Context& context);

}  // namespace flightplan::cli
