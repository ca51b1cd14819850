// Plain data movement that several groups use.
#pragma once

#include "probe/kernels/gpu.cuh"

namespace flightplan::probe {

// 16-byte words that are read or written once: the caches need not keep them.
__device__ inline uint4 LoadOnce(const uint4* from) { return __ldcs(from); }
__device__ inline void StoreOnce(uint4* to, uint4 value) { __stcs(to, value); }

// Eight bf16 numbers in 16 bytes.
__device__ inline void Unpack(uint4 packed, float (&x)[8]) {
  const __nv_bfloat162* pairs = reinterpret_cast<const __nv_bfloat162*>(&packed);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float2 pair = __bfloat1622float2(pairs[i]);
    x[2 * i] = pair.x;
    x[2 * i + 1] = pair.y;
  }
}
__device__ inline uint4 Pack(const float (&x)[8]) {
  uint4 packed;
  __nv_bfloat162* pairs = reinterpret_cast<__nv_bfloat162*>(&packed);
#pragma unroll
  for (int i = 0; i < 4; ++i) pairs[i] = __floats2bfloat162_rn(x[2 * i], x[2 * i + 1]);
  return packed;
}

// Of a number of every lane, for every lane.
__device__ inline float WarpSum(float x) {
  for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(~0u, x, step);
  return x;
}

inline constexpr int kCopyThreads = 1024, kCopyUnroll = 8;        // a block has 128 KiB in flight
inline constexpr int64_t kCopyTile = kCopyThreads * kCopyUnroll;  // 16-byte words
// Blocks over the whole chip are small: where one ends the next begins, and the rest of its SM goes on.
inline constexpr int kSpreadThreads = 256;
inline int SpreadBlocks(int64_t words) { return CeilDiv(words, kSpreadThreads * kCopyUnroll); }

// Enqueues a copy of `words` 16-byte words by `blocks` blocks; `alone`: no two of them on one SM.
Status LaunchCopy(const Gpu& gpu, cudaStream_t stream, const uint4* from, uint4* to, int64_t words, int blocks,
                  bool alone);

// Enqueues a count of the words that differ into *counter.
Status LaunchCountDifferent(cudaStream_t stream, const uint4* a, const uint4* b, int64_t words, int* counter);
// Counts the words that differ, exactly, into *differing (host).
Status CountDifferent(cudaStream_t stream, const uint4* a, const uint4* b, int64_t words, int* counter,
                      int64_t* differing);

// Page-locked memory of the host, which copies run beside; on the NUMA node that the worker is bound to
// (device/numa.h).
class Pinned {
 public:
  Pinned() = default;
  ~Pinned() { cudaFreeHost(memory_); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  Status Get(int64_t bytes) {
    CUDA_TRY(cudaHostAlloc(&memory_, static_cast<size_t>(bytes), cudaHostAllocDefault));
    return Ok();
  }
  char* bytes() const { return memory_; }

 private:
  char* memory_ = nullptr;
};

// Shared memory that makes a block the only one on its SM.
inline int AloneBytes(const Gpu& gpu) { return gpu.shared_bytes_per_block; }

}  // namespace flightplan::probe
