#include <algorithm>

#include "probe/kernels/copies.cuh"

namespace flightplan::probe {
namespace {

__global__ void __launch_bounds__(kCopyThreads) CopyKernel(const uint4* from, uint4* to, int64_t words) {
  const int64_t threads = blockDim.x, step = threads * kCopyUnroll;
  for (int64_t at = blockIdx.x * step + threadIdx.x; at < words; at += gridDim.x * step) {
    uint4 held[kCopyUnroll];
#pragma unroll
    for (int i = 0; i < kCopyUnroll; ++i) {
      if (at + i * threads < words) held[i] = LoadOnce(from + at + i * threads);
    }
#pragma unroll
    for (int i = 0; i < kCopyUnroll; ++i) {
      if (at + i * threads < words) StoreOnce(to + at + i * threads, held[i]);
    }
  }
}

__global__ void CountDifferentKernel(const uint4* a, const uint4* b, int64_t words, int* counter) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < words; i += stride) {
    const uint4 x = a[i], y = b[i];
    if (x.x != y.x || x.y != y.y || x.z != y.z || x.w != y.w) atomicAdd(counter, 1);
  }
}

}  // namespace

Status LaunchCopy(const Gpu& gpu, cudaStream_t stream, const uint4* from, uint4* to, int64_t words, int blocks,
                  bool alone) {
  const int shared = alone ? AloneBytes(gpu) : 0;
  if (alone) CUDA_TRY(cudaFuncSetAttribute(CopyKernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
  const int threads = alone ? kCopyThreads : kSpreadThreads;
  return RunKernel({stream, blocks, threads, static_cast<size_t>(shared)}, CopyKernel, from, to, words);
}

Status LaunchCountDifferent(cudaStream_t stream, const uint4* a, const uint4* b, int64_t words, int* counter) {
  CUDA_TRY(cudaMemsetAsync(counter, 0, sizeof(int), stream));
  return RunKernel({stream, std::clamp(CeilDiv(words, 256), 1, 1024), 256}, CountDifferentKernel, a, b, words, counter);
}

Status CountDifferent(cudaStream_t stream, const uint4* a, const uint4* b, int64_t words, int* counter,
                      int64_t* differing) {
  TRY(LaunchCountDifferent(stream, a, b, words, counter));
  int count = 0;
  TRY(Download(stream, counter, sizeof count, &count));
  *differing = count;
  return Ok();
}

}  // namespace flightplan::probe
