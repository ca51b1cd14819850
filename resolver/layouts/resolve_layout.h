// A layout that is given, with the execution that the forecast finds best for it: dispatcher, EP overlap, recompute and
// CUDA graphs hang on each other, so what the decisions chose one after the other is weighed once more together.
#pragma once

#include "absl/status/statusor.h"
#include "resolver/evidence/snapshot.h"
#include "resolver/pipeline/resolved_plan.h"
#include "resolver/plan/intent.h"

namespace flightplan {

// As Resolve (pipeline/resolve.h); the plan's question is `intent`. A pipeline that is given without its virtual stages
// has the best number of them, as in a search. Where another execution of the same layout is
// accepted by the stack, leaves as much room in memory as the decisions ask for and is clearly faster by the forecast,
// the plan has that one, and its decisions say what it gains.
absl::StatusOr<ResolvedPlan> ResolveLayout(const NormalizedIntent& intent, const EvidenceSnapshot& evidence);

}  // namespace flightplan
