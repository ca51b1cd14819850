// Writes a search's list of plans as the bytes of its result.
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "resolver/layouts/plan_layouts.h"
#include "resolver/plan/config_answer.h"

namespace flightplan {

// `plans`: those of `list`, as answers of their own. The result has no verdict and no digest.
ConfigAnswer AnswerOf(const PlanList& list, absl::Span<const ConfigAnswer> plans);

}  // namespace flightplan
