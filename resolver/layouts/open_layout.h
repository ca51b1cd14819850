// ResolveConfig's layout where the question leaves it open: searched as PlanLayouts does, with a bounded amount of
// work.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "resolver/evidence/snapshot.h"
#include "resolver/pipeline/resolved_plan.h"
#include "resolver/plan/intent.h"

namespace flightplan {

// What a search may cost, in units of base/work.h: some seconds.
inline constexpr uint64_t kOpenLayoutWork = uint64_t{1} << 32;
// The reason of the RESOURCE_EXHAUSTED where a question needs a search and the budget of its thread does not afford
// one: ask again with more.
inline constexpr char kSearchNeeded[] = "SEARCH_NEEDED";

// The best plan that fits, with a finding that says what was searched; of plans that fit only by the middle of their
// band, the best where there is no other. Where nothing was found, the plan with the open sizes at 1, and findings that
// list them and say why.
//
// Deterministic: the work is counted, not timed. CANCELLED: the caller has gone.
absl::StatusOr<ResolvedPlan> ResolveOpenLayout(NormalizedIntent intent, const EvidenceSnapshot& evidence);

}  // namespace flightplan
