// The virtual stages of a pipeline that is given without them.
#pragma once

#include <cstdint>
#include <vector>

#include "resolver/plan/intent.h"

namespace flightplan {

// Numbers of virtual stages a rank, the best of the search first, where the question gives a pipeline of several ranks
// and nothing about how it is cut (VPP 1 is a word). What else is open counts as 1. Empty: not open, or nothing fits.
std::vector<int64_t> VirtualStagesFor(const NormalizedIntent& intent);

}  // namespace flightplan
