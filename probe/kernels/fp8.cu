// Casts from bf16 to FP8: with one scale for a tensor, one for 128 numbers of a row, one for a square of 128, or one
// for 32 numbers (MXFP8).
#include <cuda_fp8.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "probe/kernels/copies.cuh"
#include "probe/kernels/fp8.cuh"

namespace flightplan::probe {
namespace {

constexpr int kThreads = 256;
constexpr float kMostE4m3 = 448;
constexpr int kBias = 127;  // of a power of two in one byte
constexpr uint32_t kSeedCast = 51;
constexpr int kSide = 128;     // of a square with one scale
constexpr int kSideWords = 8;  // 16-byte words of a square that a thread holds

__device__ inline uint32_t PackE4m3(float a, float b, float c, float d) {
  const auto byte = [](float x) {
    return static_cast<uint32_t>(__nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3)) & 0xff;
  };
  return byte(a) | byte(b) << 8 | byte(c) << 16 | byte(d) << 24;
}
__device__ inline uint2 PackE4m3(const float (&x)[8], float by) {
  return make_uint2(PackE4m3(x[0] * by, x[1] * by, x[2] * by, x[3] * by),
                    PackE4m3(x[4] * by, x[5] * by, x[6] * by, x[7] * by));
}

// The exponent of the smallest power of two by which numbers up to `most` are divided to be 448 at most, which is 1.75
// times 2^8. By the bits, so that nothing is rounded. Nothing but zeros: 0.
__device__ inline int ExponentFor(float most) {
  if (!(most > 0)) return 0;
  uint32_t bits;
  memcpy(&bits, &most, sizeof bits);
  const int exponent = static_cast<int>(bits >> 23) - kBias - ((bits & 0x7fffff) <= 0x600000 ? 8 : 7);
  return exponent < 1 - kBias ? 1 - kBias : exponent;
}
__host__ __device__ inline float PowerOfTwo(int exponent) {
  const uint32_t bits = static_cast<uint32_t>(exponent + kBias) << 23;
  float power;
  memcpy(&power, &bits, sizeof power);
  return power;
}

__device__ inline float Largest(const float (&x)[8]) {
  float most = 0;
#pragma unroll
  for (int i = 0; i < 8; ++i) most = fmaxf(most, fabsf(x[i]));
  return most;
}

// The scale's multiplication and its rounding are those of the reference: 448 over the largest, then to nearest.
__global__ void __launch_bounds__(kThreads)
    CastTensorKernel(const uint4* from, int64_t words, float by, float back, uint2* to, float* scale) {
  if (blockIdx.x == 0 && threadIdx.x == 0) *scale = back;
  const int64_t begin = static_cast<int64_t>(blockIdx.x) * kThreads * kCopyUnroll + threadIdx.x;
  uint4 held[kCopyUnroll];
#pragma unroll
  for (int i = 0; i < kCopyUnroll; ++i) {
    if (begin + i * kThreads < words) held[i] = LoadOnce(from + begin + i * kThreads);
  }
#pragma unroll
  for (int i = 0; i < kCopyUnroll; ++i) {
    if (begin + i * kThreads >= words) continue;
    float x[8];
    Unpack(held[i], x);
    to[begin + i * kThreads] = PackE4m3(x, by);
  }
}

// Eight numbers a thread; those of one scale are neighbours, 4 (of 32 numbers) or 16 (of 128). k is whole words.
template <Fp8Scales kHow>
__global__ void __launch_bounds__(kThreads) CastRowsKernel(const uint4* from, Fp8Matrix to) {
  constexpr int kLanes = kHow == Fp8Scales::kMx32 ? 4 : 16;
  const uint32_t blocks = static_cast<uint32_t>((to.k / 8 + kLanes - 1) / kLanes);  // along a row
  const uint32_t group = (blockIdx.x * kThreads + threadIdx.x) / kLanes;  // of 32 bits, as a division has to be
  const int row = static_cast<int>(group / blocks), lane = static_cast<int>(threadIdx.x) % kLanes;
  const int at = static_cast<int>(group % blocks) * kLanes + lane;
  const bool there = row < to.rows && at < to.k / 8;
  const int64_t word = static_cast<int64_t>(row) * (to.k / 8) + at;
  float x[8] = {};
  if (there) Unpack(LoadOnce(from + word), x);
  float most = Largest(x);
  for (int step = kLanes / 2; step > 0; step /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, step));
  if (!there) return;
  const int exponent = ExponentFor(most);
  reinterpret_cast<uint2*>(to.numbers)[word] = PackE4m3(x, PowerOfTwo(-exponent));
  if (lane != 0) return;
  const int64_t place = to.ScaleAt(row, at * 8);
  if (kHow == Fp8Scales::kMx32) static_cast<uint8_t*>(to.scales)[place] = static_cast<uint8_t>(exponent + kBias);
  if (kHow != Fp8Scales::kMx32) static_cast<float*>(to.scales)[place] = PowerOfTwo(exponent);
}

// A block of threads a square.
__global__ void __launch_bounds__(kThreads) CastSquareKernel(const uint4* from, Fp8Matrix to) {
  __shared__ float of_warp[kThreads / 32];
  const int across = (to.k + kSide - 1) / kSide, words = to.k / 8;
  const int row0 = static_cast<int>(blockIdx.x) / across * kSide, word0 = static_cast<int>(blockIdx.x) % across * 16;
  float x[kSideWords][8];
  float most = 0;
#pragma unroll
  for (int i = 0; i < kSideWords; ++i) {
    const int at = i * kThreads + static_cast<int>(threadIdx.x), row = row0 + at / 16, word = word0 + at % 16;
    const bool there = row < to.rows && word < words;
    Unpack(there ? LoadOnce(from + static_cast<int64_t>(row) * words + word) : make_uint4(0, 0, 0, 0), x[i]);
    most = fmaxf(most, Largest(x[i]));
  }
  for (int step = 16; step > 0; step /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, step));
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = most;
  __syncthreads();
#pragma unroll
  for (int w = 0; w < kThreads / 32; ++w) most = fmaxf(most, of_warp[w]);
  const int exponent = ExponentFor(most);
#pragma unroll
  for (int i = 0; i < kSideWords; ++i) {
    const int at = i * kThreads + static_cast<int>(threadIdx.x), row = row0 + at / 16, word = word0 + at % 16;
    if (row >= to.rows || word >= words) continue;
    reinterpret_cast<uint2*>(to.numbers)[static_cast<int64_t>(row) * words + word] =
        PackE4m3(x[i], PowerOfTwo(-exponent));
  }
  if (threadIdx.x == 0) static_cast<float*>(to.scales)[to.ScaleAt(row0, word0 * 8)] = PowerOfTwo(exponent);
}

// How much smaller the numbers of a block are, as a power of two.
__host__ __device__ inline int RaggedExponent(int row, int at_k) {
  const uint64_t square = Mix(static_cast<uint64_t>(row / kSide) << 32 | static_cast<uint32_t>(at_k / kSide));
  const uint64_t block = Mix(~(static_cast<uint64_t>(row) << 32 | static_cast<uint32_t>(at_k / 32)));
  return -static_cast<int>(square % 5 + block % 3);
}
__host__ __device__ inline float RaggedAt(uint32_t seed, int row, int at_k, int k) {
  const uint64_t index = static_cast<uint64_t>(row) * static_cast<uint64_t>(k) + static_cast<uint64_t>(at_k);
  return ScaledAt(seed, index, PowerOfTwo(RaggedExponent(row, at_k)));
}

__global__ void __launch_bounds__(kThreads) RaggedKernel(Bf16* to, int64_t count, int k, uint32_t seed) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < count) to[i] = __float2bfloat16(RaggedAt(seed, static_cast<int>(i / k), static_cast<int>(i % k), k));
}

class Cast : public WindowExperiment {
 public:
  Cast(Gpu& gpu, Fp8Scales how) : WindowExperiment(gpu), how_(how) {
    const MoeShape& shape = gpu.shape;
    rows_count_ = static_cast<int>(shape.rows());
    k_ = CeilDiv(shape.hidden, 16) * 16;
    SetRow("cast.fp8", "bytes_per_second", 3.0 * rows_count_ * k_,
           {{"rows", static_cast<double>(rows_count_)}, {"hidden", static_cast<double>(k_)}}, {{"scales", Name(how)}});
    stage_ = 2;
  }

 protected:
  Status Allocate() override {
    const int64_t count = int64_t{rows_count_} * k_;
    sets_ = SetsFor(3 * count);
    for (int set = 0; set < sets_; ++set) {
      TRY(gpu_.arena.Get(count, &from_.emplace_back()));
      TRY(AllocateFp8(gpu_.arena, how_, rows_count_, k_, &to_.emplace_back()));
      TRY(FillRagged(gpu_.stream, from_.back(), rows_count_, k_, kSeedCast));
    }
    return Ok();
  }
  Status Launch(cudaStream_t stream, int set) override {
    const size_t s = static_cast<size_t>(set);
    return CastFp8(stream, from_[s], kMostRagged, to_[s]);
  }

  // Every number, exactly; its scale from the numbers themselves.
  Status Check() override {
    const Fp8Matrix& to = to_.front();
    TRY(Poison(gpu_.stream, to.numbers, int64_t{rows_count_} * k_));
    TRY(Poison(gpu_.stream, to.scales, to.ScaleBytes()));
    TRY(Launch(gpu_.stream, 0));
    std::vector<uint8_t> got(static_cast<size_t>(k_)), scales(static_cast<size_t>(to.ScaleBytes()));
    TRY(Download(gpu_.stream, to.scales, to.ScaleBytes(), scales.data()));
    const int step = rows_count_ / 60 + 1;
    for (int row = 0; row < rows_count_;
         row = row + 1 < rows_count_ ? std::min(row + step, rows_count_ - 1) : row + 1) {
      TRY(Download(gpu_.stream, to.numbers + int64_t{row} * k_, k_, got.data()));
      for (int at = 0; at < k_; ++at) {
        const float scale = ScaleFor(row, at);
        if (StoredScale(to, scales, row, at) != scale) return Fail(Code::kWithheld, "a scale is wrong");
        const float x = static_cast<float>(Bf16Ragged(row, at));
        const double want = static_cast<double>(how_ == Fp8Scales::kTensor ? x * (kMostE4m3 / kMostRagged) : x / scale);
        if (!IsNearestE4m3(got[static_cast<size_t>(at)], want)) return Fail(Code::kWithheld, "a number is cast wrong");
      }
    }
    return Ok();
  }

 private:
  double Bf16Ragged(int row, int at) const {
    return static_cast<double>(__bfloat162float(__float2bfloat16(RaggedAt(kSeedCast, row, at, k_))));
  }
  static float StoredScale(const Fp8Matrix& matrix, const std::vector<uint8_t>& scales, int row, int at) {
    const size_t place = static_cast<size_t>(matrix.ScaleAt(row, at));
    if (matrix.how == Fp8Scales::kMx32) return std::ldexp(1.0f, scales[place] - kBias);
    float scale;
    std::memcpy(&scale, scales.data() + sizeof scale * place, sizeof scale);
    return scale;
  }
  // The smallest power of two by which all of the block are 448 at most.
  float ScaleFor(int row, int at) {
    if (how_ == Fp8Scales::kTensor) return kMostRagged / kMostE4m3;
    const int side = how_ == Fp8Scales::kMx32 ? 32 : kSide, high = how_ == Fp8Scales::kSquare128 ? kSide : 1;
    const std::pair<int, int> block = {row / high, at / side};
    if (block == last_block_) return last_scale_;
    double most = 0;
    for (int r = row / high * high; r < std::min(rows_count_, (row / high + 1) * high); ++r) {
      for (int i = at / side * side; i < std::min(k_, (at / side + 1) * side); ++i) {
        most = std::max(most, std::abs(Bf16Ragged(r, i)));
      }
    }
    last_block_ = block;
    last_scale_ = static_cast<float>(std::exp2(std::ceil(std::log2(most / static_cast<double>(kMostE4m3)))));
    return last_scale_;
  }
  static bool IsNearestE4m3(uint8_t got, double want) {
    const double off = std::abs(ValueOfE4m3(got) - want);
    for (const int step : {-1, 1}) {
      const int magnitude = (got & 0x7f) + step;
      if (magnitude < 0 || magnitude > 0x7e) continue;
      const double other = std::abs(ValueOfE4m3(static_cast<uint8_t>((got & 0x80) | magnitude)) - want);
      if (other < off || (other == off && (got & 1) != 0)) return false;  // to the even one
    }
    return off <= std::max(std::ldexp(1.0, -10), std::abs(want) / 16);  // half a step: no NaN, no wrong sign
  }

  Fp8Scales how_;
  int rows_count_ = 0, k_ = 0;
  std::vector<Bf16*> from_;
  std::vector<Fp8Matrix> to_;
  std::pair<int, int> last_block_ = {-1, -1};
  float last_scale_ = 0;
};

}  // namespace

int64_t Fp8Matrix::ScaleBytes() const {
  const int64_t blocks = CeilDiv(k, 128), high = CeilDiv(rows, 128);
  switch (how) {
    case Fp8Scales::kNone:
      return 0;
    case Fp8Scales::kTensor:
      return 4;
    case Fp8Scales::kRow128:
      return 4 * blocks * rows;
    case Fp8Scales::kSquare128:
      return 4 * high * CeilDiv(blocks, 4) * 4;
    case Fp8Scales::kMx32:
      return 512 * high * blocks;
  }
  return 0;
}

const char* Name(Fp8Scales how) {
  constexpr const char* kNames[] = {"none", "tensor", "1x128", "128x128", "1x32"};
  return kNames[static_cast<int>(how)];
}

Status AllocateFp8(Arena& arena, Fp8Scales how, int rows, int k, Fp8Matrix* matrix) {
  *matrix = {how, rows, k};
  char* scales = nullptr;
  TRY(arena.Get(int64_t{rows} * k, &matrix->numbers));
  TRY(arena.Get(matrix->ScaleBytes(), &scales));
  matrix->scales = scales;
  return Ok();
}

Status CastFp8(cudaStream_t stream, const Bf16* from, float most, const Fp8Matrix& to) {
  if (to.k % 16 != 0) return Fail(Code::kFailed, "an FP8 operand whose rows are no multiple of 16");
  const uint4* words = reinterpret_cast<const uint4*>(from);
  const int64_t count = int64_t{to.rows} * to.k / 8;
  switch (to.how) {
    case Fp8Scales::kNone:
      return Fail(Code::kFailed, "a cast to FP8 without scales");
    case Fp8Scales::kTensor:
      return RunKernel({stream, CeilDiv(count, kThreads * kCopyUnroll), kThreads}, CastTensorKernel, words, count,
                       kMostE4m3 / most, most / kMostE4m3, reinterpret_cast<uint2*>(to.numbers),
                       static_cast<float*>(to.scales));
    case Fp8Scales::kRow128:
    case Fp8Scales::kMx32: {
      const int lanes = to.how == Fp8Scales::kMx32 ? 4 : 16;
      const int64_t threads = int64_t{to.rows} * CeilDiv(to.k / 8, lanes) * lanes;
      if (threads >= int64_t{1} << 31) return Fail(Code::kFailed, "a cast of more than 2^31 words");
      const auto kernel =
          to.how == Fp8Scales::kMx32 ? CastRowsKernel<Fp8Scales::kMx32> : CastRowsKernel<Fp8Scales::kRow128>;
      return RunKernel({stream, CeilDiv(threads, kThreads), kThreads}, kernel, words, to);
    }
    case Fp8Scales::kSquare128:
      return RunKernel({stream, int64_t{CeilDiv(to.rows, kSide)} * CeilDiv(to.k, kSide), kThreads}, CastSquareKernel,
                       words, to);
  }
  return Fail(Code::kFailed, "no such scales");
}

Status FillRagged(cudaStream_t stream, Bf16* to, int rows, int k, uint32_t seed) {
  const int64_t count = int64_t{rows} * k;
  return RunKernel({stream, CeilDiv(count, kThreads), kThreads}, RaggedKernel, to, count, k, seed);
}

double ValueOfE4m3(uint8_t bits) {
  const int exponent = bits >> 3 & 0xf, fraction = bits & 7;
  if ((bits & 0x7f) == 0x7f) return std::nan("");
  const double size = exponent == 0 ? std::ldexp(fraction, -9) : std::ldexp(8 + fraction, exponent - 10);
  return (bits & 0x80) != 0 ? -size : size;
}

Status Fp8Reader::Open(cudaStream_t stream, const Fp8Matrix& matrix) {
  stream_ = stream;
  matrix_ = matrix;
  scales_.resize(static_cast<size_t>(matrix.ScaleBytes()));
  return Download(stream, matrix.scales, matrix.ScaleBytes(), scales_.data());
}

Status Fp8Reader::Row(int row, std::vector<double>* values) const {
  std::vector<uint8_t> numbers(static_cast<size_t>(matrix_.k));
  TRY(Download(stream_, matrix_.numbers + int64_t{row} * matrix_.k, matrix_.k, numbers.data()));
  values->clear();
  for (int at = 0; at < matrix_.k; ++at) {
    const size_t place = static_cast<size_t>(matrix_.ScaleAt(row, at));
    float scale = 0;
    if (matrix_.how == Fp8Scales::kMx32) scale = std::ldexp(1.0f, scales_[place] - kBias);
    if (matrix_.how != Fp8Scales::kMx32) std::memcpy(&scale, scales_.data() + sizeof scale * place, sizeof scale);
    values->push_back(ValueOfE4m3(numbers[static_cast<size_t>(at)]) * static_cast<double>(scale));
  }
  return Ok();
}

void AddCasts(Gpu& gpu, Experiments* all) {
  for (const Fp8Scales how : {Fp8Scales::kTensor, Fp8Scales::kRow128, Fp8Scales::kSquare128, Fp8Scales::kMx32}) {
    all->push_back(std::make_unique<Cast>(gpu, how));
  }
}

}  // namespace flightplan::probe
