// What the own GEMM kernels share: which tile of which GEMM a block computes, and how a result is written.
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

// Two neighbours of a row of the output; n is even.
struct Pair {
  int row, column;
  float2 sums;
};

// kCount pairs, `pair(i)` one of them, each inside of the output or outside. Rounded; or added to what is there, of
// which all is read before anything is written: a read behind a write to who knows where waits for it, and for memory
// each time.
template <int kCount, bool kFp32, class PairAt>
__device__ inline void StorePairs(const GemmTask& task, PairAt pair) {
  const auto inside = [&](const Pair& p) { return p.row < task.m && p.column < task.n; };
  const auto offset = [&](const Pair& p) { return static_cast<int64_t>(p.row) * task.n + p.column; };
  [[maybe_unused]] float2 old[kCount];
  if constexpr (kFp32) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const Pair p = pair(i);
      if (inside(p)) old[i] = *reinterpret_cast<const float2*>(static_cast<const float*>(task.c) + offset(p));
    }
  }
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    const Pair p = pair(i);
    if (!inside(p)) continue;
    if constexpr (kFp32) {
      *reinterpret_cast<float2*>(static_cast<float*>(task.c) + offset(p)) =
          make_float2(old[i].x + p.sums.x, old[i].y + p.sums.y);
    } else {
      *reinterpret_cast<__nv_bfloat162*>(static_cast<Bf16*>(task.c) + offset(p)) =
          __floats2bfloat162_rn(p.sums.x, p.sums.y);
    }
  }
}

#ifdef FLIGHTPLAN_HAS_WGMMA
// What a warp holds of a tile after wgmma: 16 rows from `row0` on, registers 4 j to 4 j + 3 the columns 8 j + lane % 4
// * 2 and the next, of row lane / 4 and of the eighth row below. n is a multiple of 8.
template <bool kFp32>
__device__ inline void StoreWarpTile(const GemmTask& task, int row0, int column0, const float (&sums)[128]) {
  const int lane = static_cast<int>(threadIdx.x) % 32, place = lane % 4, row = row0 + lane / 4;
  if constexpr (kFp32) {
#pragma unroll
    for (int i = 0; i < 64; ++i) {
      const int at_row = row + 8 * (i % 2), column = column0 + i / 2 * 8 + place * 2;
      if (at_row >= task.m || column >= task.n) continue;
      AddPair(static_cast<float*>(task.c) + static_cast<int64_t>(at_row) * task.n + column, sums[2 * i],
              sums[2 * i + 1]);
    }
  } else {
    // Four lanes that hold pairs of the same row exchange them, so that each writes 16 bytes: a fourth of the stores.
#pragma unroll
    for (int j = 0; j < 32; j += 4) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        uint32_t pairs[4];
#pragma unroll
        for (int q = 0; q < 4; ++q) {
          const __nv_bfloat162 pair =
              __floats2bfloat162_rn(sums[4 * (j + q) + 2 * half], sums[4 * (j + q) + 2 * half + 1]);
          memcpy(&pairs[q], &pair, sizeof pair);
        }
#pragma unroll
        for (int bit = 1; bit < 4; bit *= 2) {
          const bool upper = (place & bit) != 0;
#pragma unroll
          for (int q = 0; q < 4; ++q) {
            if ((q & bit) != 0) continue;
            const uint32_t got = __shfl_xor_sync(~0u, upper ? pairs[q] : pairs[q + bit], bit);
            (upper ? pairs[q] : pairs[q + bit]) = got;
          }
        }
        const int at_row = row + 8 * half, column = column0 + (j + place) * 8;
        if (at_row >= task.m || column >= task.n) continue;
        *reinterpret_cast<uint4*>(static_cast<Bf16*>(task.c) + static_cast<int64_t>(at_row) * task.n + column) =
            make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]);
      }
    }
  }
}
#endif

// Starts the copies of kRows outputs times kKs along k of an operand to shared memory, 16 bytes a turn of each of the
// block's kGemmThreads threads; zeros beyond the operand's edges. `place(row, k)`: where the chunk that begins there
// belongs.
template <int kRows, int kKs, bool kByK, class Place>
__device__ inline void LoadOperand(const Bf16* memory, int row0, int rows, int k0, int ks, Place place) {
#pragma unroll
  for (int i = 0; i < kRows * kKs / 8 / kGemmThreads; ++i) {
    const int chunk = i * kGemmThreads + static_cast<int>(threadIdx.x);
    const int row = kByK ? chunk % (kRows / 8) * 8 : chunk / (kKs / 8);
    const int k = kByK ? chunk / (kRows / 8) : chunk % (kKs / 8) * 8;
    const bool valid = row0 + row < rows && k0 + k < ks;
    const int64_t offset =
        kByK ? static_cast<int64_t>(k0 + k) * rows + row0 + row : static_cast<int64_t>(row0 + row) * ks + k0 + k;
    CopyAsync(place(row, k), valid ? memory + offset : memory, valid);
  }
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

GemmKernelInfo TmaKernelFor(const GemmShape& shape);  // gemm_tma.cu
Status MakeOperandMaps(const GemmTask& task, const GemmShape& shape, TensorMap* a, TensorMap* b);

}  // namespace flightplan::probe
