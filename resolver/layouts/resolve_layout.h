// A layout that is given, with its best execution (execute_layout.h), and the best number of virtual stages where that
// is left open.
#pragma once

#include "absl/status/statusor.h"
#include "resolver/evidence/snapshot.h"
#include "resolver/pipeline/resolved_plan.h"
#include "resolver/plan/intent.h"

namespace flightplan {

// As ExecuteLayout; the plan's question is `intent`. A pipeline that is given without its virtual stages has the best
// number of them, as in a search.
absl::StatusOr<ResolvedPlan> ResolveLayout(const NormalizedIntent& intent, const EvidenceSnapshot& evidence);

// Says of a bring-up's plan whose virtual stages are open why it has none.
void SayPlainPipeline(ResolvedPlan* plan);

}  // namespace flightplan
