// The low-rank adapters that a launch of miles trains in place of the weights.
#pragma once

#include "resolver/plan/reading.h"
#include "resolver/stacks/rollout_launch.h"

namespace flightplan {

// Puts them among the knobs, or says in `result` what is not modelled of them. Whether there are any.
bool TakeMilesAdapters(const RolloutWords& words, WrittenKnobs* knobs, ParseResult* result);

}  // namespace flightplan
