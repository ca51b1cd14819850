// What an answer advises beyond the plan itself.
#pragma once

#include <functional>

#include "resolver/pipeline/resolved_plan.h"

namespace flightplan {

// Gives the other run of a pair what makes room for it; false: nothing does.
using MakeRoom = std::function<bool(AbSuggestion*)>;

// Adds the one change to try next, as a finding and as an A/B pair, what else may be tried (another pipeline, FP8), and
// what the plan's A/B pairs are expected to show.
void Advise(ResolvedPlan* plan, const MakeRoom& make_room);

}  // namespace flightplan
