// The execution that the forecast finds best for sizes that are all given: dispatcher, EP overlap, recompute and CUDA
// graphs hang on each other, so what the decisions chose one after the other is weighed once more together.
#pragma once

#include "absl/status/statusor.h"
#include "resolver/evidence/snapshot.h"
#include "resolver/pipeline/resolved_plan.h"
#include "resolver/plan/intent.h"

namespace flightplan {

// Steps as close as this are the same step: repeated runs differ by as much.
inline constexpr double kAsFast = 0.01;

// As Resolve (pipeline/resolve.h). Where another execution is accepted by the stack, leaves as much room in memory as
// the decisions ask for and is clearly faster by the forecast, the plan has that one, and its decisions say what it
// gains.
absl::StatusOr<ResolvedPlan> ExecuteLayout(const NormalizedIntent& intent, const EvidenceSnapshot& evidence);

}  // namespace flightplan
