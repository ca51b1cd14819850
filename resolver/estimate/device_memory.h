// What nvidia-smi shows of a training process. It is more than a run must have: PyTorch's allocator keeps blocks that
// were freed as long as there is room, so it says nothing of whether a plan fits.
#pragma once

#include "resolver/derive/candidate.h"
#include "resolver/estimate/memory.h"

namespace flightplan {

// `stage`: with `allocated` and `total`. `capacity`: bytes a process can have; 0: not known. The band ends there, and
// is below `total` nowhere else.
Band DeviceBand(const StageForecast& stage, const Candidate& candidate, bool experts, double capacity);

}  // namespace flightplan
