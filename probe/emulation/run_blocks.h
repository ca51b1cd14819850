// Between the emulated runtime and the emulated threads.
#pragma once

#include <functional>

#include "probe/emulation/cuda_runtime.h"

namespace emulation {

inline constexpr size_t kSharedBytesPerBlock = 227 << 10;  // as on Hopper

void RunBlocks(dim3 blocks, dim3 threads, size_t shared_bytes, const std::function<void()>& kernel);

}  // namespace emulation
