// How long a sample runs, and over how many sets of buffers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace flightplan::probe {

// Event timestamps tick in about half a microsecond: over 200 us that is a quarter of a per cent.
inline constexpr double kWindowUs = 200;
inline constexpr int kMostOperations = 4096;  // in one graph
inline constexpr int64_t kMostSets = 32;      // all of them are queued at once, and a stream queues about a thousand

// Operations in one window, from a first estimate of one of them; a multiple of `sets`, so that every set of buffers
// is used equally often.
inline int OperationsPerWindow(double operation_us, int sets) {
  const double wanted = kWindowUs / std::max(operation_us, 1e-3);
  const int rounds = static_cast<int>(std::ceil(std::min(wanted, double{kMostOperations}) / sets));
  return std::max(1, rounds) * sets;
}

// Sets of buffers such that one turn through all of them moves at least four times the L2 cache: what was left in the
// cache by the turn before is gone. At most what fits into `room`; 0: not even one does.
inline int BufferSets(int64_t set_bytes, int64_t l2_bytes, int64_t room) {
  if (set_bytes <= 0) return 1;
  const int64_t wanted = (4 * l2_bytes + set_bytes - 1) / set_bytes;
  return static_cast<int>(std::min({wanted, room / set_bytes, kMostSets}));
}

// What a probe may hold of the device: what it was allowed, or a quarter of what is free, whichever is less.
inline int64_t DeviceBytesCap(int64_t free_bytes, int64_t allowed_bytes) {
  return std::clamp(free_bytes / 4, int64_t{0}, allowed_bytes);
}

// What libraries take later, when they load the kernels that are asked for: 12 MiB were seen (H200, cuBLASLt 13.1).
inline constexpr int64_t kLoadedLaterBytes = int64_t{32} << 20;

// What of it is left for buffers: `free_bytes` as they are when the context and the libraries already hold `held_bytes`
// for themselves.
inline int64_t BufferBytes(int64_t free_bytes, int64_t held_bytes, int64_t workspace_bytes, int64_t allowed_bytes) {
  const int64_t cap = DeviceBytesCap(free_bytes + held_bytes, allowed_bytes);
  return std::max<int64_t>(0, cap - held_bytes - workspace_bytes - kLoadedLaterBytes);
}

}  // namespace flightplan::probe
