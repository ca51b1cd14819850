// ResolveConfig's layout where the question leaves it open: searched as PlanLayouts does, with a bounded amount of
// work.
#pragma once

#include "absl/status/statusor.h"
#include "resolver/evidence/snapshot.h"
#include "resolver/layouts/search_work.h"
#include "resolver/pipeline/resolved_plan.h"
#include "resolver/plan/intent.h"

namespace flightplan {

// The best plan that fits, with a finding that says what was searched; of plans that fit only by the middle of their
// band, the best where there is no other. Where nothing was found, the plan with the open sizes at 1, and findings that
// list them and say why.
//
// Deterministic: the work is counted, not timed. Errors: as CheckWork has them.
absl::StatusOr<ResolvedPlan> ResolveOpenLayout(NormalizedIntent intent, const EvidenceSnapshot& evidence);

}  // namespace flightplan
