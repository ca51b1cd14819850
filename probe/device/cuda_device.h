// The attached GPU. In a build without nvcc only the answers "no GPU" and "built without CUDA" are left.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "probe/device/device.h"
#include "probe/kernels/shapes.h"
#include "probe/limits.h"

namespace flightplan::probe {

struct CudaRequest {
  int index = -1;              // -1: the first device that is free and ours
  std::string lock_directory;  // of DeviceLock
  bool check_only = false;     // small shapes, one launch each, no timing
  bool once = false;           // the measured shapes, a few launches each, no timing
  std::vector<int> team;       // devices that are measured together, the first of them alone, too; empty: `index` alone
  bool all = false;            // the same, all devices of the node
  MoeShape shape;
  int memory_mib = kDefaultMemoryMib;  // of each device, all in all
};

// kNoGpu, kBusy, kNotOurs, kLocked: see status.h. The locks go with the device. kUnsupported: a team of one, or of
// different types.
Status OpenCudaDevice(const CudaRequest& request, std::unique_ptr<Device>* device);

}  // namespace flightplan::probe
