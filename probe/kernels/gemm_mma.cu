// The own GEMM that every card from compute capability 8.0 on can run: mma.sync, fed by cp.async.
#include "probe/kernels/gemm_tiles.cuh"

namespace flightplan::probe {
namespace {

// One block computes 128 x 256 outputs, each of its 8 warps 64 x 64, over steps of 32 along k; three steps are on their
// way from memory while one is computed.
constexpr int kTileK = 32, kStages = 4, kThreads = kGemmThreads;
constexpr int kStageElements = (kTileM + kTileN) * kTileK;
constexpr size_t kSharedBytes = sizeof(Bf16) * kStages * kStageElements;

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

// A tile of one operand in shared memory: kRows outputs times 32 along k. An operand that lies [row][k] in memory is
// kept so, four 16-byte chunks a row; one that lies [k][row] is kept as 32 long rows. In both, chunks are exchanged
// within a row such that eight rows of one chunk lie in different banks, as ldmatrix reads them.
template <int kRows, bool kByK>
struct OperandTile {
  __device__ static int At(int row, int k) {  // of the chunk that holds it
    if constexpr (kByK) return k * kRows + (((row / 8) ^ (k & 7)) * 8);
    return row * kTileK + (((k / 8) ^ ((row >> 1) & 3)) * 8);
  }

  __device__ static void Load(Bf16* tile, const Bf16* memory, int row0, int rows, int k0, int ks) {
    LoadOperand<kRows, kTileK, kByK>(memory, row0, rows, k0, ks, [=](int row, int k) { return tile + At(row, k); });
  }
};

template <bool kAByK, bool kBByK>
__device__ inline void Compute(const Bf16* a_tile, const Bf16* b_tile, int warp_m, int warp_n, float (&sums)[4][8][4]) {
  using A = OperandTile<kTileM, kAByK>;
  using B = OperandTile<kTileN, kBByK>;
  const int lane = static_cast<int>(threadIdx.x) % 32, group = lane / 8, within = lane % 8;
#pragma unroll
  for (int k = 0; k < kTileK; k += 16) {
    uint32_t a[4][4], b[4][4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {  // matrices in the order rows 0-7, rows 8-15 of k 0-7, then of k 8-15
      const int row = warp_m * 64 + i * 16 + (group & 1) * 8, at_k = k + (group >> 1) * 8;
      LoadMatrices<kAByK>(a[i], a_tile + (kAByK ? A::At(row, at_k + within) : A::At(row + within, at_k)));
    }
#pragma unroll
    for (int j = 0; j < 4; ++j) {  // in the order k 0-7, k 8-15 of columns 0-7, then of columns 8-15
      const int column = warp_n * 64 + j * 16 + (group >> 1) * 8, at_k = k + (group & 1) * 8;
      LoadMatrices<kBByK>(b[j], b_tile + (kBByK ? B::At(column, at_k + within) : B::At(column + within, at_k)));
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
      for (int j = 0; j < 8; ++j) MultiplyAdd(sums[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
    }
  }
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

// Persistent blocks over the output tiles of all tasks.
template <bool kAByK, bool kBByK, bool kFp32>
__global__ void __launch_bounds__(kThreads, 1) GemmKernel(const GemmTask* tasks, int task_count, int tiles) {
  Bf16* shared = reinterpret_cast<Bf16*>(DynamicShared());
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const int warp_m = warp / 4, warp_n = warp % 4;
  for (int tile = static_cast<int>(blockIdx.x); tile < tiles; tile += static_cast<int>(gridDim.x)) {
    const auto [task, index, row0, column0] = PlaceOf(tasks, task_count, tile);
    const int steps = (task.k + kTileK - 1) / kTileK;
    const auto load = [&, task = task, row0 = row0, column0 = column0](int step) {
      Bf16* stage = shared + step % kStages * kStageElements;
      OperandTile<kTileM, kAByK>::Load(stage, task.a, row0, task.m, step * kTileK, task.k);
      OperandTile<kTileN, kBByK>::Load(stage + kTileM * kTileK, task.b, column0, task.n, step * kTileK, task.k);
    };
    for (int step = 0; step < kStages - 1; ++step) {
      if (step < steps) load(step);
      CommitCopies();
    }
    float sums[4][8][4] = {};
    for (int step = 0; step < steps; ++step) {
      WaitForCopies<kStages - 2>();
      __syncthreads();  // everyone's copies of this step are there, and everyone has left the stage that is loaded next
      if (step + kStages - 1 < steps) load(step + kStages - 1);
      CommitCopies();
      const Bf16* stage = shared + step % kStages * kStageElements;
      Compute<kAByK, kBByK>(stage, stage + kTileM * kTileK, warp_m, warp_n, sums);
    }
    WaitForCopies<0>();
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int row = row0 + warp_m * 64 + i * 16 + lane / 4, column = column0 + warp_n * 64 + lane % 4 * 2;
      StorePairs<16, kFp32>(task, [&, row = row, column = column](int at) -> Pair {
        const float(&four)[4] = sums[i][at / 2];
        const int half = at % 2;
        return {row + 8 * half, column + at / 2 * 8, make_float2(four[2 * half], four[2 * half + 1])};
      });
    }
  }
}

}  // namespace

GemmKernelInfo MmaKernelFor(const GemmShape& shape) {
  return ForStorageOrder(shape,
                         []<bool kAByK, bool kBByK, bool kFp32>(StorageOrder<kAByK, kBByK, kFp32>) -> GemmKernelInfo {
                           return {GemmKernel<kAByK, kBByK, kFp32>, kSharedBytes};
                         });
}

}  // namespace flightplan::probe
