// Lists the GPUs of this machine from the driver's files under /proc, without touching a device.
#pragma once

#include <string>
#include <vector>

namespace flightplan::service {

struct LocalGpus {
  std::string driver_version;      // "580.65.06"; empty: no driver
  std::vector<std::string> uuids;  // "GPU-..."
};

// `root`: /proc/driver/nvidia, or a stand-in in tests. Empty where it is not there.
LocalGpus ReadLocalGpus(const std::string& root = "/proc/driver/nvidia");

}  // namespace flightplan::service
