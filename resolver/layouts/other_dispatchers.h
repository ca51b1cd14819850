// Dispatchers in the place of a plan's own, and the best execution with one of them.
#pragma once

#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "resolver/derive/stage_layout.h"
#include "resolver/layouts/weigh_executions.h"
#include "resolver/pipeline/resolved_plan.h"
#include "resolver/plan/intent.h"
#include "resolver/planner/search.h"

namespace flightplan {

// Those that may take the place of the plan's own. A measurement leaves none. Recipes speak for flex against the
// all-to-all, and each of its backends is published: between these they settle nothing.
std::vector<Dispatcher> OtherDispatchers(const NormalizedIntent& intent, const ResolvedPlan& plan, Dispatcher own);

// As SearchExecutions, for plans with any of these dispatchers. The decisions leave the TP overlap out beside a flex
// dispatcher alone (decide/dense_overlap.cc): where one of these is none, it is there again, unless the caller speaks
// of it. `search`, whose base is the plan's candidate, is left as it was.
std::optional<FoundPlan> SearchBeside(absl::Span<const Dispatcher> dispatchers, const ResolvedPlan& plan,
                                      const StageLayout& stages, double limit_us, ExecutionSearch* search);

// The best execution with this dispatcher within the limit, of the exchanges that `search` holds, which loses the
// others. What hangs on one flex backend hangs on the other.
std::optional<FoundPlan> SearchWith(Dispatcher dispatcher, const ResolvedPlan& plan, double limit_us,
                                    ExecutionSearch* search);

}  // namespace flightplan
