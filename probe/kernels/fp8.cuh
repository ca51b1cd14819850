// Operands of 8 bits (e4m3) with their scales, as recipes of training hold them and cuBLASLt reads them.
#pragma once

#include <vector>

#include "probe/kernels/gpu.cuh"

namespace flightplan::probe {

// [rows][k], k in blocks. Scales are what a number is multiplied with to get its value back. Where there are many, each
// is a power of two, as TransformerEngine's block recipes choose them by default.
struct Fp8Matrix {
  Fp8Scales how = Fp8Scales::kTensor;
  int rows = 0, k = 0;
  uint8_t* numbers = nullptr;
  void* scales = nullptr;  // ScaleBytes, laid out as the cuBLAS manual says of this kind

  int64_t ScaleBytes() const;
  // In what the scales' memory holds: where the one of an element stands. Rows' scales lie block by block of k, row
  // after row; squares' row by row, four to a line; those of MXFP8 in tiles of 128 rows by 4 blocks.
  __host__ __device__ int64_t ScaleAt(int row, int at_k) const {
    if (how == Fp8Scales::kRow128) return int64_t{at_k / 128} * rows + row;
    if (how == Fp8Scales::kSquare128) return int64_t{row / 128} * ((k + 511) / 512 * 4) + at_k / 128;
    if (how != Fp8Scales::kMx32) return 0;
    const int block = at_k / 32, tiles = (k + 127) / 128;
    return (int64_t{row / 128} * tiles + block / 4) * 512 + row % 32 * 16 + row % 128 / 32 * 4 + block % 4;
  }
};

const char* Name(Fp8Scales how);

// Takes memory for both from the arena.
Status AllocateFp8(Arena& arena, Fp8Scales how, int rows, int k, Fp8Matrix* matrix);
// Enqueues the cast. `most`: no number is larger; asked of kTensor, which is given its scale as delayed scaling is.
Status CastFp8(cudaStream_t stream, const Bf16* from, float most, const Fp8Matrix& to);

// Numbers whose size differs from block to block, so that a scale in the wrong place shows.
Status FillRagged(cudaStream_t stream, Bf16* to, int rows, int k, uint32_t seed);
inline constexpr float kMostRagged = 4;

// ---- On the host.

double ValueOfE4m3(uint8_t bits);
// The matrix's scales, and what one row of it stands for.
class Fp8Reader {
 public:
  Status Open(cudaStream_t stream, const Fp8Matrix& matrix);
  Status Row(int row, std::vector<double>* values) const;

 private:
  cudaStream_t stream_ = nullptr;
  Fp8Matrix matrix_;
  std::vector<uint8_t> scales_;
};

// Rows of casts; for the group "experts".
void AddCasts(Gpu& gpu, Experiments* all);
// GEMMs by cuBLASLt in every recipe: a dense one for "ceilings", and those of a layer for "experts" (fp8_gemm.cu).
void AddFp8Dense(Gpu& gpu, Experiments* all);
void AddFp8Experts(Gpu& gpu, Experiments* all);

}  // namespace flightplan::probe
