// GPUs that are no whole nodes: how a launch spreads them, and the finding that says so.
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"

namespace flightplan {

inline constexpr absl::string_view kPartialNodes = "launch.partial-nodes";

// How many each node starts: as many on every node, or the world would be a larger one.
inline int64_t RanksPerNode(int64_t gpus, int64_t node) {
  int64_t started = node < gpus ? node : gpus;
  while (started > 1 && gpus % started != 0) --started;
  return started;
}

}  // namespace flightplan
