// The attached GPU. In a build without nvcc only the answers "no GPU" and "built without CUDA" are left.
#pragma once

#include <memory>

#include "probe/device/device.h"

namespace flightplan::probe {

// `index` -1: the first device that is free and ours. kNoGpu, kBusy, kNotOurs: see status.h.
// Kernels that wait give up after `hard_seconds`.
Status OpenCudaDevice(int index, double hard_seconds, std::unique_ptr<Device>* device);

}  // namespace flightplan::probe
