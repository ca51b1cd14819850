// The attached GPU. In a build without nvcc only the answers "no GPU" and "built without CUDA" are left.
#pragma once

#include <memory>
#include <string>

#include "probe/device/device.h"

namespace flightplan::probe {

struct CudaRequest {
  int index = -1;              // -1: the first device that is free and ours
  std::string lock_directory;  // of DeviceLock
  bool check_only = false;     // small shapes, one launch each, no timing
  bool once = false;           // the measured shapes, a few launches each, no timing
};

// kNoGpu, kBusy, kNotOurs, kLocked: see status.h. The lock goes with the device.
Status OpenCudaDevice(const CudaRequest& request, std::unique_ptr<Device>* device);

}  // namespace flightplan::probe
