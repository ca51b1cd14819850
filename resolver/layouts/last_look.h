// What decisions that were weighed one after the other miss: every execution that is open, all of them together and in
// each of the rooms (kRooms of estimate/memory.h), ranked as answers are.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "resolver/derive/stage_layout.h"
#include "resolver/evidence/snapshot.h"
#include "resolver/layouts/virtual_stages.h"
#include "resolver/pipeline/resolved_plan.h"
#include "resolver/plan/intent.h"

namespace flightplan {

// Takes another execution in the place of a plan that is short of memory, where that ranks clearly before the plan:
// with memory enough the decisions miss next to nothing.
absl::Status LookAtExecutions(const NormalizedIntent& intent, const EvidenceSnapshot& evidence, ResolvedPlan* plan);

// Of a plan that is launched with its layers cut otherwise: whether anything that is open may rank clearly before the
// plan.
std::vector<bool> MayRankBefore(const NormalizedIntent& intent, const ResolvedPlan& plan,
                                absl::Span<const StageLayout> stages);

// LookAtExecutions of any plan whose virtual stages are open, over all numbers of them.
absl::Status LookAtStages(const NormalizedIntent& intent, const EvidenceSnapshot& evidence, VirtualStageSearch* search,
                          ResolvedPlan* plan);

// LookAtExecutions over all splits of the layers of a plan with as many virtual stages, where these are open.
absl::Status LookAtSplits(const NormalizedIntent& intent, const EvidenceSnapshot& evidence, ResolvedPlan* plan);

}  // namespace flightplan
