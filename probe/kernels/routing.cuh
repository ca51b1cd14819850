// The half of the dispatch group that decides where rows go; dispatch.cu moves them.
#pragma once

#include "probe/kernels/gpu.cuh"

namespace flightplan::probe {

Experiments RoutingExperiments(Gpu& gpu);  // router.topk, permute.map

}  // namespace flightplan::probe
