// The pipeline: derive -> decide -> estimate -> rules, from a closed question to a plan.
#pragma once

#include "absl/status/statusor.h"
#include "resolver/evidence/snapshot.h"
#include "resolver/pipeline/resolved_plan.h"
#include "resolver/plan/intent.h"

namespace flightplan {

// A wrong configuration is a plan with findings. Sizes of the layout that are open stay at 1, and a finding names them.
// INTERNAL: a forecast that is no finite number.
absl::StatusOr<ResolvedPlan> Resolve(NormalizedIntent intent, const EvidenceSnapshot& evidence);

}  // namespace flightplan
