// The own GEMM on Hopper's tensor cores (wgmma). Two warpgroups compute 64 x 256 outputs each, over steps of 64 along
// k.
//
// Operands come by cp.async, not by the bulk copy engine: so there is no barrier object that a thread could wait for in
// vain, and edges are zeros without a tensor map per expert. Of four stages one is computed, one may still be read by
// the step before, two are on their way.
#include "probe/kernels/gemm_tiles.cuh"

namespace flightplan::probe {
namespace {

// Unused where the code is for another generation.
[[maybe_unused]] constexpr int kTileK = 64, kStages = 4, kAhead = 2;
[[maybe_unused]] constexpr int kLineBytes = 128;                   // the width that is swizzled: 64 numbers
[[maybe_unused]] constexpr int kPanelBytes = kTileK * kLineBytes;  // 64 lines
[[maybe_unused]] constexpr int kABytes = kTileM * kTileK * 2, kStageBytes = (kTileM + kTileN) * kTileK * 2;
constexpr size_t kSharedBytes = size_t{kStages} * kStageBytes;

// An operand of kRows outputs times 64 along k, in lines of 128 bytes whose eight 16-byte chunks are exchanged by the
// line's number modulo 8. [row][k] in memory: a line per row. [k][row] in memory: panels of 64 rows, a line per k.
template <int kRows, bool kByK>
struct Operand {
  __device__ static int OffsetOf(int row, int k) {  // of the chunk that holds it, in bytes
    const int line = kByK ? k : row, chunk = kByK ? row % 64 / 8 : k / 8, panel = kByK ? row / 64 * kPanelBytes : 0;
    return panel + line * kLineBytes + ((chunk ^ (line & 7)) * 16);
  }

  __device__ static void Load(unsigned char* tile, const Bf16* memory, int row0, int rows, int k0, int ks) {
    LoadOperand<kRows, kTileK, kByK>(memory, row0, rows, k0, ks,
                                     [=](int row, int k) { return reinterpret_cast<Bf16*>(tile + OffsetOf(row, k)); });
  }

  // From `row` (a multiple of 64) and `k` (of 16) on. Lines come in groups of eight, 1024 bytes apart; panels are only
  // told apart where rows run along the line.
  __device__ static uint64_t Descriptor(const unsigned char* tile, int row, int k) {
    const int offset = kByK ? row / 64 * kPanelBytes + k * kLineBytes : row * kLineBytes + k * 2;
    return SwizzledMatrix(tile + offset, kPanelBytes, 8 * kLineBytes);
  }
};

template <bool kAByK, bool kBByK, bool kFp32>
__global__ void __launch_bounds__(kGemmThreads, 1) HopperGemmKernel(const GemmTask* tasks, int task_count, int tiles) {
#ifdef FLIGHTPLAN_HAS_WGMMA
  using A = Operand<kTileM, kAByK>;
  using B = Operand<kTileN, kBByK>;
  unsigned char* shared = DynamicShared();
  const int group = static_cast<int>(threadIdx.x) / 128, warp = static_cast<int>(threadIdx.x) % 128 / 32;
  const auto load = [&](const TilePlace& place, int step) {
    unsigned char* stage = shared + step % kStages * kStageBytes;
    if (step * kTileK < place.task.k) {
      A::Load(stage, place.task.a, place.row0, place.task.m, step * kTileK, place.task.k);
      B::Load(stage + kABytes, place.task.b, place.column0, place.task.n, step * kTileK, place.task.k);
    }
    CommitCopies();
  };

  TilePlace place = PlaceOf(tasks, task_count, static_cast<int>(blockIdx.x));
  for (int step = 0; step < kAhead; ++step) load(place, step);
  for (int tile = static_cast<int>(blockIdx.x); tile < tiles; tile += static_cast<int>(gridDim.x)) {
    float sums[128];
#pragma unroll
    for (int i = 0; i < 128; ++i) sums[i] = 0;
    FenceSums(sums);
    const int steps = (place.task.k + kTileK - 1) / kTileK;
    for (int step = 0; step < steps; ++step) {
      WaitForCopies<kAhead - 1>();
      FenceForMatrices();
      __syncthreads();  // everyone's copies of this step are there; everyone has left the step before the last
      const unsigned char* stage = shared + step % kStages * kStageBytes;
      BeginMatrices();
#pragma unroll
      for (int k = 0; k < kTileK; k += 16) {
        MultiplyMatrices<kAByK, kBByK>(sums, A::Descriptor(stage, group * 64, k), B::Descriptor(stage + kABytes, 0, k));
      }
      CommitMatrices();
      load(place, step + kAhead);  // where the step before the last was
      WaitForMatrices<1>();
    }
    WaitForMatrices<0>();
    FenceSums(sums);
    __syncthreads();  // nobody reads any stage now
    const TilePlace done = place;
    const int next = tile + static_cast<int>(gridDim.x);
    if (next < tiles) {  // the next tile is on its way while this one is written
      WaitForCopies<0>();
      place = PlaceOf(tasks, task_count, next);
      for (int step = 0; step < kAhead; ++step) load(place, step);
    }
    StoreWarpTile<kFp32>(done.task, done.row0 + group * 64 + warp * 16, done.column0, sums);
  }
  WaitForCopies<0>();
#endif
}

}  // namespace

GemmKernelInfo HopperKernelFor(const GemmShape& shape) {
  return ForStorageOrder(shape,
                         []<bool kAByK, bool kBByK, bool kFp32>(StorageOrder<kAByK, kBByK, kFp32>) -> GemmKernelInfo {
                           return {HopperGemmKernel<kAByK, kBByK, kFp32>, kSharedBytes};
                         });
}

}  // namespace flightplan::probe
