// ResolveConfig's layout where the question leaves it open: searched as PlanLayouts does, with a bounded amount of
// work.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "resolver/plan/finding.h"
#include "resolver/plan/intent.h"
#include "resolver/resolver.h"

namespace flightplan {

// What a search may cost, in units of base/work.h: some seconds.
inline constexpr uint64_t kOpenLayoutWork = uint64_t{1} << 32;
// The reason of the RESOURCE_EXHAUSTED where a question needs a search and the budget of its thread does not afford
// one: ask again with more.
inline constexpr char kSearchNeeded[] = "SEARCH_NEEDED";

// The best plan that fits into *response, with a finding that says what was searched; of plans that fit only by the
// middle of their band, the best where there is no other. Empty *why_not: it was answered. Else nothing was found, and
// *why_not are findings for the answer that lists the open sizes.
//
// Deterministic: the work is counted, not timed. CANCELLED: the caller has gone.
absl::Status ResolveOpenLayout(const Resolver& resolver, const v1::ResolveConfigRequest& request,
                               const NormalizedIntent& intent, const EvidenceSnapshot& evidence,
                               v1::ResolveConfigResponse* response, std::vector<Finding>* why_not);

}  // namespace flightplan
