// How much work a grid of fixed blocks is given, so that none of them is idle at the end.
#pragma once

#include <algorithm>
#include <cstdint>

namespace flightplan::probe {

// About `bytes`, such that `blocks` blocks have the same number of tiles each: else the last round keeps some of them
// idle, and the rate of all looks lower than it is.
inline int64_t WholeRounds(int64_t bytes, int64_t tile_bytes, int blocks) {
  const int64_t round = tile_bytes * blocks;
  return std::max<int64_t>(1, (bytes + round / 2) / round) * round;
}

}  // namespace flightplan::probe
