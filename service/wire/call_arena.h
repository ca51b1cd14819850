// Request and answer of one call live on one arena, whose first block is kept per thread: a usual call allocates
// nothing for its messages.
#pragma once

#include <cstddef>
#include <memory>

#include "google/protobuf/arena.h"

namespace flightplan::service {

inline constexpr size_t kCallArenaBlockBytes = size_t{128} << 10;

// For one arena at a time on this thread, destroyed before the function that made it returns.
inline google::protobuf::ArenaOptions CallArenaOptions() {
  thread_local const std::unique_ptr<char[]> kBlock(new char[kCallArenaBlockBytes]);
  google::protobuf::ArenaOptions options;
  options.initial_block = kBlock.get();
  options.initial_block_size = kCallArenaBlockBytes;
  return options;
}

}  // namespace flightplan::service
