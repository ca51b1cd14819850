// Between the emulated runtime and the emulated threads.
#pragma once

#include <functional>

#include "probe/emulation/cuda_runtime.h"

namespace emulation {

inline constexpr size_t kSharedBytesPerBlock = 227 << 10;  // as on Hopper
inline constexpr int kSmCount = 40;                        // enough for an exchange on 20 beside something

inline constexpr int kDevices = 4;  // of which one is current, as in CUDA

// Begins `work` of a device, or goes on with what it has left in `half_way`; false: it waits for another kernel, and
// has to be gone on with. The work must live until it is done. What waits must have no static shared memory.
bool RunPiece(int device, const std::function<void()>& work, void** half_way);
int RunningDevice();

void RunBlocks(dim3 blocks, dim3 threads, size_t shared_bytes, const std::function<void()>& kernel);
bool QueuesAlone();

}  // namespace emulation
