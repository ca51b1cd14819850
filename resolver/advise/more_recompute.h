// Computing more again, for a plan that lacks the room: what a next step tries by itself, or beside other stages.
#pragma once

#include <vector>

#include "resolver/advise/move.h"
#include "resolver/plan/intent.h"

namespace flightplan {

// From what costs least to what frees most, each with all that those before it compute again; none where recompute is
// the caller's word.
std::vector<KnobChanges> MoreRecompute(const NormalizedIntent& intent, const Config& config);

}  // namespace flightplan
