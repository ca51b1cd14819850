// The work that a search may cost, and what is said where it is spent.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "resolver/plan/intent.h"

namespace flightplan {

// What searching an open layout may cost, in units of base/work.h: seconds of one core. A caller with less left is told
// to ask where there is more: RESOURCE_EXHAUSTED with kSearchNeeded.
inline constexpr uint64_t kOpenLayoutWork = uint64_t{1} << 32;
inline constexpr char kSearchNeeded[] = "SEARCH_NEEDED";

// Candidates judged and layouts looked at: about two seconds of one core. PlanLayouts has no such limit.
inline constexpr int64_t kWorkLimit = int64_t{3} << 20;

// Of one plan through the whole pipeline.
size_t WorkOfAPlan(const NormalizedIntent& intent);

// Whether what was worked out is whole: CANCELLED where the caller went meanwhile, RESOURCE_EXHAUSTED with
// kSearchNeeded where their work is spent.
absl::Status CheckWork();

}  // namespace flightplan
