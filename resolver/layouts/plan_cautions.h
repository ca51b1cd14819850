// What an answered plan is ranked with: planner/caution.h of a whole plan, as it is executed.
#pragma once

#include "resolver/pipeline/resolved_plan.h"
#include "resolver/plan/intent.h"
#include "resolver/planner/caution.h"

namespace flightplan {

// Of a question, before any plan: without a memory.
CautionContext CautionContextOf(const NormalizedIntent& intent);

// Null: the plan leaves room, or the GPU's memory is not known.
const Caution* MemoryCautionOf(const ResolvedPlan& plan);

// For the memory forecast's error.
inline bool LeavesNoRoom(const ResolvedPlan& plan) { return MemoryCautionOf(plan) != nullptr; }

// Of a plan that has a step. `memory`: whether it counts, too.
Cautions CautionsOf(const ResolvedPlan& plan, bool memory);

// What its step counts for with all of its cautions.
double RankedUs(const ResolvedPlan& plan);

}  // namespace flightplan
