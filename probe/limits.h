// What a probe may be asked for: its worker and the service that starts it hold to the same. Constants alone.
#pragma once

namespace flightplan::probe {

// All groups, in the order in which they run.
inline constexpr const char* kGroups[] = {"ceilings", "dispatch", "experts", "exchange", "overlap", "launch", "memory"};

inline constexpr int kMostDevices = 1024;             // of a node
inline constexpr int kLeastTeam = 2, kMostTeam = 16;  // devices of one exchange
inline constexpr int kDefaultMemoryMib = 2048, kLeastMemoryMib = 512, kMostMemoryMib = 65536;  // held of the device

}  // namespace flightplan::probe
