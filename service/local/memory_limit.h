// How much memory this process may have before the system ends it.
#pragma once

#include <cstdint>
#include <string>

namespace flightplan::service {

// Bytes: the least of what the machine has and its control groups allow (systemd's MemoryMax, a container's limit).
int64_t MemoryLimit(const std::string& own_groups = "/proc/self/cgroup", const std::string& groups = "/sys/fs/cgroup");

}  // namespace flightplan::service
