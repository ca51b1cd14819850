// Between the emulated runtime and the emulated threads.
#pragma once

#include <functional>

#include "probe/emulation/cuda_runtime.h"

namespace emulation {

inline constexpr size_t kSharedBytesPerBlock = 227 << 10;  // as on Hopper
inline constexpr int kSmCount = 40;                        // enough for an exchange on 20 beside something

void RunBlocks(dim3 blocks, dim3 threads, size_t shared_bytes, const std::function<void()>& kernel);
bool QueuesAlone();

}  // namespace emulation
