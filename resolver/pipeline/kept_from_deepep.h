// Whether a plan would run DeepEP but for the NVSHMEM that is installed, or that the stack's image has or may have.
#pragma once

#include "resolver/pipeline/resolved_plan.h"

namespace flightplan {

// And nobody has said what is to be used in its place.
bool KeptFromDeepep(const ResolvedPlan& plan);

}  // namespace flightplan
