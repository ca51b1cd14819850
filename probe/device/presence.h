// Is there a GPU at all, and may it be measured? Asked of the driver and of NVML alone, before any context.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "probe/status.h"

namespace flightplan::probe {

// 13000 -> "13.0".
std::string CudaVersionText(int version);

// kNoGpu with the reason; kUnsupported where the driver is older than `cuda_runtime` (13000; 0: any will do) needs.
// Neither creates a context nor keeps the driver loaded.
Status FindGpu(int cuda_runtime);

// A runtime runs on every driver of its major version or a later one. Versions as CUDA writes them: 13000 is 13.0.
Status DriverFits(int driver, int cuda_runtime);

// What a device shows of others before this process has a context on it; nothing: not told.
struct DeviceUse {
  std::optional<int> processes;       // with a compute context; in a container only those of the container
  std::optional<int> busy_percent;    // of the last second, whoever it was
  std::optional<int64_t> used_bytes;  // without what the driver holds for itself
};

// "is used by 2 other processes", for a sentence that begins with the device; empty: it is free. Inside a container
// the list of processes is blind, so that use and memory are asked as well.
std::string DescribeUse(const DeviceUse& use);

}  // namespace flightplan::probe
