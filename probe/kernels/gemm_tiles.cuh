// What the own GEMM kernels share: which tile of which GEMM a block computes, and how a result is written.
#pragma once

#include "probe/kernels/gemm.cuh"

namespace flightplan::probe {

inline constexpr int kTileM = 128, kTileN = 256;  // outputs of one block
inline constexpr int kGemmThreads = 256;

struct TilePlace {
  GemmTask task;
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
  return {task, (8 * band + in_band % band_m) * kTileM, in_band / band_m * kTileN};
}

// Two neighbours of a row; n is even. Added to what is there, or rounded.
template <bool kFp32>
__device__ inline void StorePair(const GemmTask& task, int row, int column, float x, float y) {
  if (row >= task.m || column >= task.n) return;
  const int64_t at = static_cast<int64_t>(row) * task.n + column;
  if constexpr (kFp32) {
    float2* c = reinterpret_cast<float2*>(static_cast<float*>(task.c) + at);
    const float2 old = *c;
    *c = make_float2(old.x + x, old.y + y);
  } else {
    *reinterpret_cast<__nv_bfloat162*>(static_cast<Bf16*>(task.c) + at) = __floats2bfloat162_rn(x, y);
  }
}

// A kernel over a list of tasks, and what it needs; null: an order that no layer needs.
struct GemmKernelInfo {
  void (*kernel)(const GemmTask*, int task_count, int tiles) = nullptr;
  size_t shared_bytes = 0;
};
GemmKernelInfo HopperKernelFor(const GemmShape& shape);  // gemm_hopper.cu

}  // namespace flightplan::probe
