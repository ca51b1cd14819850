// The own GEMM on Hopper's tensor cores, fed by the bulk copy engine: one warp keeps four stages of 64 along k on their
// way, two warpgroups compute 64 x 256 outputs each and do nothing else. A tile's results are written while the next
// tile's operands arrive.
//
// Two barriers a stage: `full` when its bytes are there, `empty` when all warps are done reading. Every wait has a
// deadline, after which the thread waits no more: the output is then wrong, and the row withheld.
#ifdef __CUDACC__
#include <cuda.h>  // types alone; the function is asked for at run time
#endif

#include <algorithm>

#include "probe/kernels/gemm_tiles.cuh"

namespace flightplan::probe {
namespace {

constexpr int kComputeWarps = 8, kTmaThreads = 32 * (kComputeWarps + 1);
// Unused where the code is for another generation.
[[maybe_unused]] constexpr int kTileK = 64, kStages = 4;
[[maybe_unused]] constexpr int kLineBytes = 2 * kTileLine;
[[maybe_unused]] constexpr int kPanelBytes = kTileK * kLineBytes;
[[maybe_unused]] constexpr int kABytes = kTileM * kTileK * 2, kStageBytes = (kTileM + kTileN) * kTileK * 2;
constexpr size_t kSharedBytes = size_t{kStages} * kStageBytes + 2 * kStages * sizeof(uint64_t);
[[maybe_unused]] constexpr uint64_t kWaitLimitNs = 500'000'000;

#ifdef FLIGHTPLAN_HAS_WGMMA
// Not at all once a wait was in vain. No way out of the loop over k: it would make the compiler wait for every matrix
// instruction before the next.
__device__ inline void WaitFor(uint64_t* barrier, int parity, bool* in_vain) {
  uint64_t begin = 0;
  for (int tries = 1; !*in_vain && !PhaseIsOver(barrier, parity); ++tries) {
    if (tries % 256 != 0) continue;
    const uint64_t now = GlobalNs();
    if (begin == 0) begin = now;
    *in_vain = now - begin > kWaitLimitNs;
  }
}

// An operand of kRows outputs times 64 along k. [row][k] in memory: one tile, a line per row. [k][row]: panels of 64
// rows, a line per k.
template <int kRows, bool kByK>
struct Operand {
  __device__ static void Load(const TensorMap* map, int row0, int k0, unsigned char* to, uint64_t* full) {
    if constexpr (kByK) {
      for (int row = 0; row < kRows; row += kTileLine) {
        CopyTile(map, row0 + row, k0, to + row / kTileLine * kPanelBytes, full);
      }
    } else {
      CopyTile(map, k0, row0, to, full);
    }
  }
  // From `row` (a multiple of 64) and `k` (of 16) on.
  __device__ static uint64_t Descriptor(const unsigned char* tile, int row, int k) {
    const int offset = kByK ? row / kTileLine * kPanelBytes + k * kLineBytes : row * kLineBytes + k * 2;
    return SwizzledMatrix(tile + offset, kPanelBytes, 8 * kLineBytes);
  }
};

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

template <bool kAByK, bool kBByK, bool kFp32>
__global__ void __launch_bounds__(kTmaThreads, 1)
    TmaGemmKernel(const GemmTask* tasks, const TensorMap* maps, int task_count, int tiles) {
#ifdef FLIGHTPLAN_HAS_WGMMA
  using A = Operand<kTileM, kAByK>;
  using B = Operand<kTileN, kBByK>;
  unsigned char* shared = DynamicShared();
  uint64_t* full = reinterpret_cast<uint64_t*>(shared + kStages * kStageBytes);
  uint64_t* empty = full + kStages;
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) {
      InitBarrier(full + s, 1);
      InitBarrier(empty + s, kComputeWarps);
    }
    FenceBarriers();
  }
  __syncthreads();

  bool in_vain = false;
  if (warp == kComputeWarps) {
    if (lane != 0) return;
    int turn = 0;
    for (int tile = static_cast<int>(blockIdx.x); tile < tiles; tile += static_cast<int>(gridDim.x)) {
      const TilePlace place = PlaceOf(tasks, task_count, tile);
      const TensorMap *a = maps + 2 * place.index, *b = a + 1;
      AcquireMap(a);
      AcquireMap(b);
      for (int k = 0; k < place.task.k; k += kTileK, ++turn) {
        const int s = turn % kStages;
        unsigned char* stage = shared + s * kStageBytes;
        WaitFor(empty + s, turn / kStages % 2 ^ 1, &in_vain);
        if (in_vain) return;
        ArriveAndExpect(full + s, kStageBytes);
        A::Load(a, place.row0, k, stage, full + s);
        B::Load(b, place.column0, k, stage + kABytes, full + s);
      }
    }
    return;
  }

  const int group = warp / 4;
  int turn = 0;
  for (int tile = static_cast<int>(blockIdx.x); tile < tiles; tile += static_cast<int>(gridDim.x)) {
    const TilePlace place = PlaceOf(tasks, task_count, tile);
    float sums[128];
#pragma unroll
    for (int i = 0; i < 128; ++i) sums[i] = 0;
    FenceSums(sums);
    for (int k0 = 0; k0 < place.task.k; k0 += kTileK, ++turn) {
      const int s = turn % kStages;
      const unsigned char* stage = shared + s * kStageBytes;
      WaitFor(full + s, turn / kStages % 2, &in_vain);
      __syncwarp();
      BeginMatrices();
#pragma unroll
      for (int k = 0; k < kTileK; k += 16) {
        MultiplyMatrices<kAByK, kBByK>(sums, A::Descriptor(stage, group * 64, k), B::Descriptor(stage + kABytes, 0, k));
      }
      CommitMatrices();
      WaitForMatrices<1>();  // those of the step before
      if (k0 > 0 && lane == 0) Arrive(empty + (turn - 1) % kStages);
    }
    WaitForMatrices<0>();
    FenceSums(sums);
    if (lane == 0) Arrive(empty + (turn - 1) % kStages);
    StoreWarpTile<kFp32>(place.task, place.row0 + group * 64 + warp % 4 * 16, place.column0, sums);
  }
#endif
}

}  // namespace

GemmKernelInfo TmaKernelFor(const GemmShape& shape) {
  return ForStorageOrder(
      shape, []<bool kAByK, bool kBByK, bool kFp32>(StorageOrder<kAByK, kBByK, kFp32>) -> GemmKernelInfo {
        return {.shared_bytes = kSharedBytes, .threads = kTmaThreads, .mapped = TmaGemmKernel<kAByK, kBByK, kFp32>};
      });
}

Status MakeOperandMaps(const GemmTask& task, const GemmShape& shape, TensorMap* a, TensorMap* b) {
  const int64_t m = std::max(shape.m, 1), n = shape.n, k = shape.k;  // a task without rows has no tiles either
  TRY(shape.a_by_k ? MakeTensorMap(task.a, m, k, kTileK, a) : MakeTensorMap(task.a, k, m, kTileM, a));
  return shape.b_by_k ? MakeTensorMap(task.b, n, k, kTileK, b) : MakeTensorMap(task.b, k, n, kTileN, b);
}

#ifdef __CUDACC__
static_assert(sizeof(TensorMap) == sizeof(CUtensorMap) && alignof(TensorMap) >= 64);

Status MakeTensorMap(const Bf16* matrix, int64_t width, int64_t lines, int tile_lines, TensorMap* map) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
  CUDA_TRY(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &result));
  if (found == nullptr) return Fail(Code::kUnsupported, "the driver makes no tensor maps");
  const cuuint64_t sizes[] = {static_cast<cuuint64_t>(width), static_cast<cuuint64_t>(lines)};
  const cuuint64_t strides[] = {2 * static_cast<cuuint64_t>(width)};
  const cuuint32_t tile[] = {kTileLine, static_cast<cuuint32_t>(tile_lines)}, steps[] = {1, 1};
  const auto encode = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(found);
  const int error =
      encode(reinterpret_cast<CUtensorMap*>(map), CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, const_cast<Bf16*>(matrix), sizes,
             strides, tile, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
             CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return error == 0 ? Ok() : Fail(Code::kUnsupported, "cuTensorMapEncodeTiled failed with " + std::to_string(error));
}
#endif

}  // namespace flightplan::probe
