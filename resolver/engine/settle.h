// Runs the checks on a decided plan, and takes back decisions that the target stack would refuse.
#pragma once

#include "resolver/engine/engine.h"
#include "resolver/rules/decide/decide.h"

namespace flightplan {

struct SettledPlan {
  DecidedPlan plan;        // knobs of the config classes, as decided
  Config written;          // the plan as written for the target (derive/target_knobs.h): what is judged and launched
  RunResult run;           // the checks' verdict on it
  bool as_decided = true;  // no decision was taken back
};

// Where an error finding rests on a knob that we decided, its fix is applied to such knobs and the checks run again;
// the knob's decision then names the rule. What the caller or the model gave is never touched: those findings stay.
SettledPlan Settle(DecidedPlan plan, const Environment& env, const Found& found);

}  // namespace flightplan
