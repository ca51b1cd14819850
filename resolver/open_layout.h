// ResolveConfig's layout where the question leaves it open: searched as PlanLayouts does, with a bounded amount of
// work.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "resolver/plan/finding.h"
#include "resolver/plan/intent.h"
#include "resolver/resolver.h"

namespace flightplan {

// The best plan that fits into *response, with a finding that says what was searched; of plans that fit only by the
// middle of their band, the best where there is no other. Empty *why_not: it was answered. Else nothing was found, and
// *why_not are findings for the answer that lists the open sizes.
//
// Deterministic: the work is counted, not timed.
absl::Status ResolveOpenLayout(const Resolver& resolver, const v1::ResolveConfigRequest& request,
                               const NormalizedIntent& intent, const EvidenceSnapshot& evidence,
                               v1::ResolveConfigResponse* response, std::vector<Finding>* why_not);

}  // namespace flightplan
