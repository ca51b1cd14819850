// One probe per GPU: two at once would measure each other.
#pragma once

#include <string>

#include "probe/status.h"

namespace flightplan::probe {

// Held until it is destroyed, or the process ends however it ends.
class DeviceLock {
 public:
  DeviceLock() = default;
  ~DeviceLock();
  DeviceLock(const DeviceLock&) = delete;
  DeviceLock& operator=(const DeviceLock&) = delete;

  // kLocked: another process holds it. `directory` empty: XDG_RUNTIME_DIR, else /tmp. Does not wait.
  Status Take(const std::string& directory, const std::string& device_uuid);

 private:
  int file_ = -1;
};

}  // namespace flightplan::probe
