// What nvidia-smi shows of a training process. It is more than a run must have: PyTorch's allocator keeps blocks that
// were freed as long as there is room, so it says nothing of whether a plan fits.
#pragma once

#include "resolver/catalog/memory_coefficients.h"
#include "resolver/derive/candidate.h"
#include "resolver/estimate/memory.h"

namespace flightplan {

// What the allocator keeps of freed blocks, as a share of the peak of what is allocated.
const Coefficient& CachedShare(const Candidate& candidate, bool experts);

// `stage`: with `allocated` and `total`. `capacity`: bytes a process can have; 0: not known. The band ends there, and
// is below `total` nowhere else. Nothing, where more is allocated than that: such a run ends before it is looked at.
Band DeviceBand(const StageForecast& stage, const Candidate& candidate, bool experts, double capacity);

}  // namespace flightplan
