// What the own GEMM kernels share: which tile of which GEMM a block computes, and which kernel a GEMM takes.
#pragma once

#include "probe/kernels/bulk.cuh"
#include "probe/kernels/gemm.cuh"

namespace flightplan::probe {

inline constexpr int kTileM = 128, kTileN = 256;  // outputs of one block
inline constexpr int kGemmThreads = 256;

struct TilePlace {
  GemmTask task;
  int index;  // of the task
  int row0, column0;
};

// Of the tiles of all tasks in a row. Eight rows of tiles at a time, so that what is read twice is read soon.
__device__ inline TilePlace PlaceOf(const GemmTask* tasks, int task_count, int tile) {
  int t = 0;
  while (t + 1 < task_count && tasks[t + 1].first_tile <= tile) ++t;
  const GemmTask task = tasks[t];
  const int tiles_m = (task.m + kTileM - 1) / kTileM, tiles_n = (task.n + kTileN - 1) / kTileN;
  const int at = tile - task.first_tile, band = at / (8 * tiles_n), band_m = min(8, tiles_m - 8 * band);
  const int in_band = at - band * 8 * tiles_n;
  return {task, t, (8 * band + in_band % band_m) * kTileM, in_band / band_m * kTileN};
}

// A kernel over a list of tasks, and what it needs; no threads: an order that no layer needs.
struct GemmKernelInfo {
  void (*kernel)(const GemmTask*, int task_count, int tiles) = nullptr;
  size_t shared_bytes = 0;
  int threads = kGemmThreads;
  // In place of `kernel`: two maps a task beside the tasks, of A and of B.
  void (*mapped)(const GemmTask*, const TensorMap*, int task_count, int tiles) = nullptr;
};

// How a and b lie in memory (GemmShape), and whether the output is added to in fp32.
template <bool kAByK, bool kBByK, bool kFp32>
struct StorageOrder {};

// make(StorageOrder) of a layer's forward pass, input gradient or weight gradient, whichever the shape is.
template <class Make>
GemmKernelInfo ForStorageOrder(const GemmShape& shape, Make make) {
  if (!shape.a_by_k && !shape.b_by_k && !shape.accumulate_fp32) return make(StorageOrder<false, false, false>());
  if (!shape.a_by_k && shape.b_by_k && !shape.accumulate_fp32) return make(StorageOrder<false, true, false>());
  if (shape.a_by_k && shape.b_by_k && shape.accumulate_fp32) return make(StorageOrder<true, true, true>());
  return {.threads = 0};
}

GemmKernelInfo MmaKernelFor(const GemmShape& shape);  // gemm_mma.cu
GemmKernelInfo TmaKernelFor(const GemmShape& shape);  // gemm_tma.cu
Status MakeOperandMaps(const GemmTask& task, const GemmShape& shape, TensorMap* a, TensorMap* b);

}  // namespace flightplan::probe
