// Dispatchers in the place of a plan's own, and the best execution with one of them.
#pragma once

#include <optional>
#include <vector>

#include "resolver/layouts/weigh_executions.h"
#include "resolver/pipeline/resolved_plan.h"
#include "resolver/plan/intent.h"
#include "resolver/planner/search.h"

namespace flightplan {

// Those that may take the place of the plan's own. A measurement leaves none. Recipes speak for flex against the
// all-to-all, and each of its backends is published: between these they settle nothing.
std::vector<Dispatcher> OtherDispatchers(const NormalizedIntent& intent, const ResolvedPlan& plan, Dispatcher own);

// The decisions leave the TP overlap out beside a flex dispatcher alone (decide/dense_overlap.cc): without one it is
// there again, unless the caller speaks of it. `base`: the plan's candidate.
bool RegainsTensorOverlap(Dispatcher dispatcher, const ResolvedPlan& plan, const Candidate& base);

// The best execution with this dispatcher within the limit, of the exchanges that `search` holds, which loses the
// others. What hangs on one flex backend hangs on the other.
std::optional<FoundPlan> SearchWith(Dispatcher dispatcher, const ResolvedPlan& plan, double limit_us,
                                    ExecutionSearch* search);

}  // namespace flightplan
