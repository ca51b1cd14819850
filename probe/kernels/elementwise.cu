#include <algorithm>
#include <cmath>

#include "probe/kernels/copies.cuh"
#include "probe/kernels/elementwise.cuh"
#include "probe/method/row_table.h"

namespace flightplan::probe {
namespace {

constexpr int kThreads = 256;
constexpr uint32_t kSeedIn = 31, kSeedProbs = 32, kSeedGrad = 33;
constexpr float kEpsilon = 1e-6f;

// An exact division would be a third of the kernels' instructions, for digits that bf16 does not hold.
__device__ inline float Sigmoid(float x) { return __fdividef(1.0f, 1.0f + __expf(-x)); }

__global__ void __launch_bounds__(kThreads)
    SwigluKernel(const uint4* in, const float* probs, uint32_t words, uint32_t ffn_words, uint4* out) {
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= words) return;
  const uint32_t line = i / ffn_words,
                 at = i % ffn_words;  // of 32 bits: a wide division would cost as much as the rest
  const int64_t row = line;
  float gate[8], up[8];
  Unpack(LoadOnce(in + row * 2 * ffn_words + at), gate);
  Unpack(LoadOnce(in + row * 2 * ffn_words + ffn_words + at), up);
  const float prob = probs[row];
#pragma unroll
  for (int j = 0; j < 8; ++j) gate[j] = gate[j] * Sigmoid(gate[j]) * up[j] * prob;
  StoreOnce(out + i, Pack(gate));
}

// A warp a row, because the probability's gradient is a sum over the row.
__global__ void __launch_bounds__(kThreads)
    SwigluGradKernel(const uint4* grad, const uint4* in, const float* probs, int64_t rows, int ffn_words, uint4* out,
                     float* probs_grad) {
  const int64_t row = static_cast<int64_t>(blockIdx.x) * (kThreads / 32) + threadIdx.x / 32;
  if (row >= rows) return;
  const float prob = probs[row];
  float sum = 0;
  for (int i = static_cast<int>(threadIdx.x % 32); i < ffn_words; i += 32) {
    float g[8], gate[8], up[8];
    Unpack(LoadOnce(grad + row * ffn_words + i), g);
    Unpack(LoadOnce(in + row * 2 * ffn_words + i), gate);
    Unpack(LoadOnce(in + row * 2 * ffn_words + ffn_words + i), up);
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const float s = Sigmoid(gate[j]), silu = gate[j] * s;
      sum += g[j] * silu * up[j];
      const float gp = g[j] * prob;
      gate[j] = gp * up[j] * (s + silu * (1.0f - s));
      up[j] = gp * silu;
    }
    StoreOnce(out + row * 2 * ffn_words + i, Pack(gate));
    StoreOnce(out + row * 2 * ffn_words + ffn_words + i, Pack(up));
  }
  sum = WarpSum(sum);
  if (threadIdx.x % 32 == 0) probs_grad[row] = sum;
}

// A block a row, of no more threads than hold four words each between the sum and the scaling: many rows are on their
// way at once.
constexpr int kNormWords = 4;
__global__ void __launch_bounds__(kThreads) NormKernel(const uint4* in, const float* weight, int words, uint4* out) {
  __shared__ float of_warp[kThreads / 32];
  const int64_t row = blockIdx.x;
  const int threads = static_cast<int>(blockDim.x);
  uint4 held[kNormWords];
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kNormWords; ++i) {
    const int at = static_cast<int>(threadIdx.x) + i * threads;
    if (at >= words) continue;
    held[i] = LoadOnce(in + row * words + at);
    float x[8];
    Unpack(held[i], x);
#pragma unroll
    for (int j = 0; j < 8; ++j) sum += x[j] * x[j];
  }
  sum = WarpSum(sum);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = 0;
#pragma unroll
  for (int w = 0; w < kThreads / 32; ++w) sum += w < threads / 32 ? of_warp[w] : 0;
  const float scale = rsqrtf(sum / static_cast<float>(words * 8) + kEpsilon);
#pragma unroll
  for (int i = 0; i < kNormWords; ++i) {
    const int at = static_cast<int>(threadIdx.x) + i * threads;
    if (at >= words) continue;
    float x[8];
    Unpack(held[i], x);
    const float4* w = reinterpret_cast<const float4*>(weight) + 2 * at;
    const float4 low = w[0], high = w[1];
    const float of[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
    for (int j = 0; j < 8; ++j) x[j] *= scale * of[j];
    StoreOnce(out + row * words + at, Pack(x));
  }
}

double Silu(double x) { return x / (1 + std::exp(-x)); }

class ElementwiseExperiment : public WindowExperiment {
 public:
  ElementwiseExperiment(Gpu& gpu, Elementwise kind, const std::string& id, const MoeShape& shape)
      : WindowExperiment(gpu),
        kind_(kind),
        rows_count_(kind == Elementwise::kNorm ? shape.tokens : shape.rows()),
        width_(kind == Elementwise::kNorm ? shape.hidden : shape.ffn) {
    const int widths = kind == Elementwise::kSwiglu ? 3 : kind == Elementwise::kSwigluGrad ? 5 : 2;
    const bool rate = FindRow(id)->unit != "us";
    std::map<std::string, double> parameters = {{"rows", static_cast<double>(rows_count_)}, {"ffn", width_}};
    if (kind == Elementwise::kNorm) parameters = {{"tokens", static_cast<double>(rows_count_)}, {"hidden", width_}};
    SetRow(id, std::string(FindRow(id)->unit), rate ? 2.0 * widths * static_cast<double>(rows_count_) * width_ : 0,
           parameters);
  }

 protected:
  Status Allocate() override {
    const int64_t n = rows_count_ * width_;
    const int64_t in = kind_ == Elementwise::kNorm ? n : 2 * n, out = kind_ == Elementwise::kSwigluGrad ? 2 * n : n;
    const int64_t grad = kind_ == Elementwise::kSwigluGrad ? n : 0;
    TRY(gpu_.arena.Get(std::max<int64_t>(rows_count_, width_), &probs_));
    TRY(gpu_.arena.Get(rows_count_, &probs_grad_));
    TRY(FillFloat(gpu_.stream, probs_, std::max<int64_t>(rows_count_, width_), kSeedProbs, 1));
    sets_ = SetsFor(2 * (in + out + grad) + 1024);
    out_bytes_ = 2 * out;
    for (int s = 0; s < sets_; ++s) {
      Set& set = all_.emplace_back();
      TRY(gpu_.arena.Get(in, &set.in));
      TRY(gpu_.arena.Get(out, &set.out));
      TRY(gpu_.arena.Get(grad, &set.grad));
      TRY(FillBf16(gpu_.stream, set.in, in, kSeedIn, 1));
      TRY(FillBf16(gpu_.stream, set.grad, grad, kSeedGrad, 1));
    }
    return Ok();
  }

  Status Launch(cudaStream_t stream, int s) override {
    const Set& set = all_[static_cast<size_t>(s)];
    if (kind_ == Elementwise::kSwiglu) return LaunchSwiglu(stream, set.in, probs_, rows_count_, width_, set.out);
    if (kind_ == Elementwise::kNorm) return LaunchNorm(stream, set.in, probs_, rows_count_, width_, set.out);
    return LaunchSwigluGrad(stream, set.grad, set.in, probs_, rows_count_, width_, set.out, probs_grad_);
  }

  Status Check() override {
    TRY(Poison(gpu_.stream, all_.front().out, out_bytes_));
    TRY(Poison(gpu_.stream, probs_grad_, 4 * rows_count_));
    TRY(Launch(gpu_.stream, 0));
    CUDA_TRY(cudaStreamSynchronize(gpu_.stream));
    Comparison comparison, of_probs;
    for (int64_t row = 0; row < rows_count_; row += rows_count_ / 40 + 1) TRY(CheckRow(row, &comparison, &of_probs));
    TRY(CheckRow(rows_count_ - 1, &comparison, &of_probs));
    if (kind_ == Elementwise::kSwigluGrad) TRY(of_probs.Verdict("the probability's gradient", 1e-4));
    return comparison.Verdict("the output", kBf16Tolerance);
  }

 private:
  struct Set {
    Bf16 *in = nullptr, *out = nullptr, *grad = nullptr;
  };

  Status CheckRow(int64_t row, Comparison* comparison, Comparison* of_probs) {
    const uint64_t r = static_cast<uint64_t>(row), f = static_cast<uint64_t>(width_);
    const uint64_t out_width = kind_ == Elementwise::kSwigluGrad ? 2 * f : f;
    std::vector<Bf16> got(out_width);
    TRY(Download(gpu_.stream, all_.front().out + r * out_width, static_cast<int64_t>(2 * out_width), got.data()));
    const double prob = static_cast<double>(ScaledAt(kSeedProbs, r, 1));
    double squares = 0, prob_grad = 0;
    for (uint64_t i = 0; kind_ == Elementwise::kNorm && i < f; ++i)
      squares += std::pow(Bf16At(kSeedIn, r * f + i, 1), 2);
    const double scale = 1 / std::sqrt(squares / static_cast<double>(f) + static_cast<double>(kEpsilon));
    for (uint64_t i = 0; i < f; ++i) {
      if (kind_ == Elementwise::kNorm) {
        const double weight = static_cast<double>(ScaledAt(kSeedProbs, i, 1));
        comparison->Add(AsDouble(got[i]), Bf16At(kSeedIn, r * f + i, 1) * scale * weight);
        continue;
      }
      const double gate = Bf16At(kSeedIn, r * 2 * f + i, 1), up = Bf16At(kSeedIn, r * 2 * f + f + i, 1);
      if (kind_ == Elementwise::kSwiglu) {
        comparison->Add(AsDouble(got[i]), Silu(gate) * up * prob);
        continue;
      }
      const double grad = Bf16At(kSeedGrad, r * f + i, 1), s = 1 / (1 + std::exp(-gate));
      comparison->Add(AsDouble(got[i]), grad * prob * up * (s + Silu(gate) * (1 - s)));
      comparison->Add(AsDouble(got[f + i]), grad * prob * Silu(gate));
      prob_grad += grad * Silu(gate) * up;
    }
    if (kind_ != Elementwise::kSwigluGrad) return Ok();
    float of_row = 0;
    TRY(Download(gpu_.stream, probs_grad_ + row, sizeof of_row, &of_row));
    of_probs->Add(static_cast<double>(of_row), prob_grad);
    return Ok();
  }

  Elementwise kind_;
  int64_t rows_count_;
  int width_;
  int64_t out_bytes_ = 0;
  float *probs_ = nullptr, *probs_grad_ = nullptr;  // the norm's weights lie in probs_
  std::vector<Set> all_;
};

}  // namespace

std::unique_ptr<Experiment> MakeElementwise(Gpu& gpu, Elementwise kind, const std::string& id, const MoeShape& shape) {
  return std::make_unique<ElementwiseExperiment>(gpu, kind, id, shape);
}

Status LaunchSwiglu(cudaStream_t stream, const Bf16* in, const float* probs, int64_t rows, int ffn, Bf16* out) {
  const int64_t words = rows * ffn / 8;
  if (words >= int64_t{1} << 31) return Fail(Code::kFailed, "SwiGLU over more than 2^31 words");
  return RunKernel({stream, CeilDiv(words, kThreads), kThreads}, SwigluKernel, reinterpret_cast<const uint4*>(in),
                   probs, static_cast<uint32_t>(words), static_cast<uint32_t>(ffn / 8), reinterpret_cast<uint4*>(out));
}

Status LaunchSwigluGrad(cudaStream_t stream, const Bf16* grad, const Bf16* in, const float* probs, int64_t rows,
                        int ffn, Bf16* out, float* probs_grad) {
  return RunKernel({stream, CeilDiv(rows, kThreads / 32), kThreads}, SwigluGradKernel,
                   reinterpret_cast<const uint4*>(grad), reinterpret_cast<const uint4*>(in), probs, rows, ffn / 8,
                   reinterpret_cast<uint4*>(out), probs_grad);
}

Status LaunchNorm(cudaStream_t stream, const Bf16* in, const float* weight, int64_t rows, int hidden, Bf16* out) {
  const int warps = std::clamp(CeilDiv(hidden / 8, 32 * kNormWords), 1, kThreads / 32);
  return RunKernel({stream, rows, 32 * warps}, NormKernel, reinterpret_cast<const uint4*>(in), weight, hidden / 8,
                   reinterpret_cast<uint4*>(out));
}

}  // namespace flightplan::probe
