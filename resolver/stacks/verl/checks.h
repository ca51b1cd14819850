// What Hydra and verl check of the overrides before a worker starts.
#pragma once

#include "resolver/plan/reading.h"
#include "resolver/stacks/verl/words.h"

namespace flightplan {

// Adds findings of the rules in rules/verl/overrides.cc. `gpus`: of the actor; 0: not known.
void CheckVerl(const VerlWords& words, int64_t gpus, ParseResult* out);

}  // namespace flightplan
