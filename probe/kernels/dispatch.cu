// What a MoE layer does to its rows on either side of the exchange: sort them by expert, bring them back.
#include <algorithm>
#include <type_traits>

#include "probe/kernels/copies.cuh"
#include "probe/kernels/dispatch.cuh"
#include "probe/kernels/routing.cuh"
#include "probe/kernels/shapes.h"

namespace flightplan::probe {
namespace {

constexpr int kRowThreads = 256;
constexpr uint32_t kSeedRows = 21, kSeedProbs = 22, kSeedGrad = 24;

// A token's row is read once and written to its K places, with the probability beside it.
__global__ void __launch_bounds__(kRowThreads) PermuteKernel(const uint4* rows, const int* map, const float* probs,
                                                             int words, int topk, uint4* out, float* out_probs) {
  const int64_t token = blockIdx.x;
  __shared__ int places[kMostTopk];
  if (threadIdx.x < static_cast<unsigned>(topk)) {
    const int place = map[token * topk + threadIdx.x];
    places[threadIdx.x] = place;
    out_probs[place] = probs[token * topk + threadIdx.x];
  }
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < words; i += kRowThreads) {
    const uint4 word = LoadOnce(rows + token * words + i);
    for (int k = 0; k < topk; ++k) StoreOnce(out + static_cast<int64_t>(places[k]) * words + i, word);
  }
}

// Rows of a token that are on their way at once: all up to eight, else the half of them, so that registers suffice.
constexpr int AtOnce(int topk) { return topk <= 8 ? topk : topk / 2; }

// The K rows of a token, summed in fp32; times their probabilities where there are any.
template <int kTopk>
__global__ void __launch_bounds__(kRowThreads)
    CombineKernel(const uint4* rows, const int* map, const float* probs, int words, uint4* out) {
  constexpr int kAtOnce = AtOnce(kTopk);
  const int64_t token = blockIdx.x;
  int places[kTopk];
  float weights[kTopk];
#pragma unroll
  for (int k = 0; k < kTopk; ++k) {
    places[k] = map[token * kTopk + k];
    weights[k] = probs == nullptr ? 1.0f : probs[token * kTopk + k];
  }
  for (int i = static_cast<int>(threadIdx.x); i < words; i += kRowThreads) {
    float sum[8] = {};
#pragma unroll
    for (int first = 0; first < kTopk; first += kAtOnce) {
      uint4 held[kAtOnce];
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) held[k] = LoadOnce(rows + static_cast<int64_t>(places[first + k]) * words + i);
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        float x[8];
        Unpack(held[k], x);
#pragma unroll
        for (int j = 0; j < 8; ++j) sum[j] += weights[first + k] * x[j];
      }
    }
    StoreOnce(out + token * words + i, Pack(sum));
  }
}

// Gradient of the weighted sum: every expert's row gets the token's gradient times its probability; the probability
// gets the product of both rows.
template <int kTopk>
__global__ void __launch_bounds__(kRowThreads, kTopk <= 8    ? 3
                                               : kTopk <= 10 ? 2
                                                             : 1)  // so that all stays in registers
    CombineGradKernel(const uint4* grad, const uint4* rows, const int* map, const float* probs, int words, uint4* out,
                      float* probs_grad) {
  constexpr int kAtOnce = kTopk == 16 ? 4 : kTopk == 22 ? 1 : AtOnce(kTopk);  // less: a row's sums stay, too
  const int64_t token = blockIdx.x;
  int places[kTopk];
  float weights[kTopk], products[kTopk] = {};
#pragma unroll
  for (int k = 0; k < kTopk; ++k) {
    places[k] = map[token * kTopk + k];
    weights[k] = probs[token * kTopk + k];
  }
  for (int i = static_cast<int>(threadIdx.x); i < words; i += kRowThreads) {
#pragma unroll
    for (int first = 0; first < kTopk; first += kAtOnce) {
      uint4 held[kAtOnce];
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) held[k] = LoadOnce(rows + static_cast<int64_t>(places[first + k]) * words + i);
      float g[8];  // once more in every round: it is in the cache, and registers are short
      Unpack(LoadOnce(grad + token * words + i), g);
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        float x[8], scaled[8];
        Unpack(held[k], x);
#pragma unroll
        for (int j = 0; j < 8; ++j) {
          scaled[j] = weights[first + k] * g[j];
          products[first + k] += x[j] * g[j];
        }
        StoreOnce(out + static_cast<int64_t>(places[first + k]) * words + i, Pack(scaled));
      }
    }
  }
  __shared__ float of_warp[kRowThreads / 32][kTopk];
#pragma unroll
  for (int k = 0; k < kTopk; ++k) {
    products[k] = WarpSum(products[k]);
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32][k] = products[k];
  }
  __syncthreads();
  if (threadIdx.x < kTopk) {
    float sum = 0;
    for (int w = 0; w < kRowThreads / 32; ++w) sum += of_warp[w][threadIdx.x];
    probs_grad[token * kTopk + threadIdx.x] = sum;
  }
}

// Whole rows from one order to another; several of a block are on their way at once.
constexpr int kMovedRows = 4;
__global__ void __launch_bounds__(kRowThreads)
    MoveRowsKernel(const uint4* rows, const int* from, int64_t count, int words, uint4* out) {
  const int64_t first = static_cast<int64_t>(blockIdx.x) * kMovedRows;
  const uint4* source[kMovedRows];
#pragma unroll
  for (int r = 0; r < kMovedRows; ++r) {
    source[r] = rows + static_cast<int64_t>(from[min(first + r, count - 1)]) * words;
  }
  for (int i = static_cast<int>(threadIdx.x); i < words; i += kRowThreads) {
    uint4 held[kMovedRows];
#pragma unroll
    for (int r = 0; r < kMovedRows; ++r) held[r] = LoadOnce(source[r] + i);
#pragma unroll
    for (int r = 0; r < kMovedRows; ++r) {
      if (first + r < count) StoreOnce(out + (first + r) * words + i, held[r]);
    }
  }
}

enum class Way { kPermute, kPermuteGrad, kUnpermute, kUnpermuteGrad, kSort };

class RowMovement : public WindowExperiment {
 public:
  // `topk` other than the shape's: as many rows all in all, so that only what K itself costs differs.
  RowMovement(Gpu& gpu, Way way, int topk, int stage) : WindowExperiment(gpu), way_(way) {
    stage_ = stage;
    if (topk != shape_.topk) {
      shape_.tokens = static_cast<int>(std::max<int64_t>(1, shape_.rows() / topk));
      shape_.topk = topk;
    }
    const int64_t wide = shape_.token_bytes() * shape_.tokens, rows = shape_.token_bytes() * shape_.rows();
    const int64_t counted[] = {wide + rows + 12 * shape_.rows(), rows + wide, rows + wide + 8 * shape_.rows(),
                               wide + 2 * rows + 4 * shape_.rows(), 2 * rows};
    const char* const ids[] = {"permute.fwd", "permute.bwd", "unpermute.fwd", "unpermute.bwd", "chunk.sort"};
    const size_t i = static_cast<size_t>(way);
    SetRow(ids[i], "bytes_per_second", static_cast<double>(counted[i]), RoutedParameters(shape_));
  }

 protected:
  Status Allocate() override {
    words_ = shape_.hidden / 8;
    map_host_ = way_ == Way::kSort ? SortMap() : RowMap(shape_, RandomExperts(shape_));
    TRY(gpu_.arena.Get(shape_.rows(), &map_));
    TRY(Upload(gpu_.stream, map_host_.data(), 4 * shape_.rows(), map_));
    TRY(gpu_.arena.Get(shape_.rows(), &probs_));
    TRY(gpu_.arena.Get(shape_.rows(), &probs_out_));
    TRY(FillFloat(gpu_.stream, probs_, shape_.rows(), kSeedProbs, 0.125f));
    const int64_t token_words = int64_t{words_} * shape_.tokens, row_words = int64_t{words_} * shape_.rows();
    const bool two_wide = way_ == Way::kUnpermuteGrad || way_ == Way::kSort;
    sets_ = SetsFor(16 * (token_words + (two_wide ? 2 : 1) * row_words) + 1024);
    for (int s = 0; s < sets_; ++s) {
      RowBuffers& set = all_.emplace_back();
      set.map = map_;
      set.probs = probs_;
      set.probs_out = probs_out_;
      set.token_count = shape_.tokens;
      set.hidden = shape_.hidden;
      set.topk = shape_.topk;
      TRY(gpu_.arena.Get(token_words, &set.tokens));
      TRY(gpu_.arena.Get(row_words, &set.rows));
      if (two_wide) TRY(gpu_.arena.Get(row_words, &set.rows_out));
      TRY(FillBf16(gpu_.stream, reinterpret_cast<Bf16*>(set.tokens), 8 * token_words, kSeedGrad, 1));
      TRY(FillBf16(gpu_.stream, reinterpret_cast<Bf16*>(set.rows), 8 * row_words, kSeedRows, 1));
    }
    return Ok();
  }

  Status Launch(cudaStream_t stream, int s) override {
    const RowBuffers& set = all_[static_cast<size_t>(s)];
    switch (way_) {
      case Way::kPermute:
        return LaunchPermute(stream, set);
      case Way::kPermuteGrad:
        return LaunchCombine(stream, set, /*with_probs=*/false);
      case Way::kUnpermute:
        return LaunchCombine(stream, set, /*with_probs=*/true);
      case Way::kUnpermuteGrad:
        return LaunchCombineGrad(stream, set);
      case Way::kSort:
        return RunKernel({stream, CeilDiv(shape_.rows(), kMovedRows), kRowThreads}, MoveRowsKernel, set.rows, map_,
                         shape_.rows(), words_, set.rows_out);
    }
    return Ok();
  }

  Status Check() override {
    const RowBuffers& set = all_.front();
    uint4* out = way_ == Way::kPermute                               ? set.rows
                 : way_ == Way::kUnpermuteGrad || way_ == Way::kSort ? set.rows_out
                                                                     : set.tokens;
    const int64_t out_rows = out == set.tokens ? shape_.tokens : shape_.rows();
    TRY(Poison(gpu_.stream, out, out_rows * shape_.token_bytes()));
    TRY(Poison(gpu_.stream, probs_out_, 4 * shape_.rows()));
    TRY(Launch(gpu_.stream, 0));
    CUDA_TRY(cudaStreamSynchronize(gpu_.stream));
    Comparison comparison, of_probs;
    // Every 97th (token, k), and the last.
    for (int64_t i = 0; i < shape_.rows();
         i += i + 97 < shape_.rows() || i == shape_.rows() - 1 ? 97 : shape_.rows() - 1 - i) {
      TRY(CheckEntry(i, out, &comparison));
      if (way_ == Way::kPermute || way_ == Way::kUnpermuteGrad) TRY(CheckProb(i, &of_probs));
    }
    if (way_ == Way::kPermute || way_ == Way::kUnpermuteGrad) TRY(of_probs.Verdict("the probabilities", 1e-4));
    const bool exact = way_ == Way::kPermute || way_ == Way::kSort;
    return comparison.Verdict("a row", exact ? 0 : kBf16Tolerance);
  }

 private:
  // Rows came ordered by sending rank, then by local expert; wanted is the other way about. Chunks of uneven sizes.
  std::vector<int> SortMap() const {
    const int chunks = shape_.ranks * shape_.local_experts();
    std::vector<int64_t> begin = {0};
    for (int c = 0; c < chunks; ++c) {
      const int64_t even = shape_.rows() / chunks, uneven = even / 4 * (c % 2 == 0 ? 1 : -1);
      begin.push_back(c + 1 == chunks ? shape_.rows() : begin.back() + even + uneven);
    }
    std::vector<int> map;
    for (int expert = 0; expert < shape_.local_experts(); ++expert) {
      for (int rank = 0; rank < shape_.ranks; ++rank) {
        const size_t chunk = static_cast<size_t>(rank * shape_.local_experts() + expert);
        for (int64_t row = begin[chunk]; row < begin[chunk + 1]; ++row) map.push_back(static_cast<int>(row));
      }
    }
    return map;
  }

  double TokenAt(int64_t token, int column) const {
    return Bf16At(kSeedGrad, static_cast<uint64_t>(token * shape_.hidden + column), 1);
  }
  double RowAt(int64_t row, int column) const {
    return Bf16At(kSeedRows, static_cast<uint64_t>(row * shape_.hidden + column), 1);
  }
  double ProbAt(int64_t entry) const {
    return static_cast<double>(ScaledAt(kSeedProbs, static_cast<uint64_t>(entry), 0.125f));
  }

  double Want(int64_t entry, int column) const {
    const int64_t token = entry / shape_.topk;
    if (way_ == Way::kPermute) return TokenAt(token, column);
    if (way_ == Way::kUnpermuteGrad) return ProbAt(entry) * TokenAt(token, column);
    if (way_ == Way::kSort) return RowAt(map_host_[static_cast<size_t>(entry)], column);
    double sum = 0;
    for (int64_t e = token * shape_.topk; e < (token + 1) * shape_.topk; ++e) {
      sum += (way_ == Way::kUnpermute ? ProbAt(e) : 1.0) * RowAt(map_host_[static_cast<size_t>(e)], column);
    }
    return sum;
  }

  Status CheckEntry(int64_t entry, const uint4* out, Comparison* comparison) {
    int64_t row = map_host_[static_cast<size_t>(entry)];  // of the output
    if (way_ == Way::kSort) row = entry;
    if (way_ == Way::kPermuteGrad || way_ == Way::kUnpermute) row = entry / shape_.topk;
    std::vector<Bf16> got(static_cast<size_t>(shape_.hidden));
    TRY(Download(gpu_.stream, out + row * words_, shape_.token_bytes(), got.data()));
    for (int column = 0; column < shape_.hidden; column += column % 2 == 0 ? 61 : 62) {
      comparison->Add(AsDouble(got[static_cast<size_t>(column)]), Want(entry, column));
    }
    return Ok();
  }

  Status CheckProb(int64_t entry, Comparison* comparison) {
    const int64_t row = map_host_[static_cast<size_t>(entry)];
    double want = 0;
    if (way_ == Way::kPermute) want = ProbAt(entry);
    for (int column = 0; way_ == Way::kUnpermuteGrad && column < shape_.hidden; ++column) {
      want += TokenAt(entry / shape_.topk, column) * RowAt(row, column);
    }
    float got = 0;
    TRY(Download(gpu_.stream, probs_out_ + (way_ == Way::kPermute ? row : entry), sizeof got, &got));
    comparison->Add(static_cast<double>(got), want);
    return Ok();
  }

  Way way_;
  MoeShape shape_ = gpu_.shape;
  int words_ = 0;
  std::vector<int> map_host_;
  int* map_ = nullptr;
  float *probs_ = nullptr, *probs_out_ = nullptr;
  std::vector<RowBuffers> all_;
};

}  // namespace

Status LaunchPermute(cudaStream_t stream, const RowBuffers& b) {
  return RunKernel({stream, b.token_count, kRowThreads}, PermuteKernel, b.tokens, b.map, b.probs, b.hidden / 8, b.topk,
                   b.rows, b.probs_out);
}

namespace {

// Calls `work` with the topk as a constant.
template <class WithTopk>
Status ForTopk(int topk, const WithTopk& work) {
  switch (topk) {
    case 1:
      return work(std::integral_constant<int, 1>());
    case 2:
      return work(std::integral_constant<int, 2>());
    case 3:
      return work(std::integral_constant<int, 3>());
    case 4:
      return work(std::integral_constant<int, 4>());
    case 6:
      return work(std::integral_constant<int, 6>());
    case 8:
      return work(std::integral_constant<int, 8>());
    case 10:
      return work(std::integral_constant<int, 10>());
    case 16:
      return work(std::integral_constant<int, 16>());
    case 22:
      return work(std::integral_constant<int, 22>());
    default:
      return Fail(Code::kUnsupported, "no kernel is built for " + std::to_string(topk) + " experts a token");
  }
}

}  // namespace

Status LaunchCombine(cudaStream_t stream, const RowBuffers& b, bool with_probs) {
  return ForTopk(b.topk, [&](auto topk) {
    return RunKernel({stream, b.token_count, kRowThreads}, CombineKernel<decltype(topk)::value>, b.rows, b.map,
                     with_probs ? b.probs : nullptr, b.hidden / 8, b.tokens);
  });
}

Status LaunchCombineGrad(cudaStream_t stream, const RowBuffers& b) {
  return ForTopk(b.topk, [&](auto topk) {
    return RunKernel({stream, b.token_count, kRowThreads}, CombineGradKernel<decltype(topk)::value>, b.tokens, b.rows,
                     b.map, b.probs, b.hidden / 8, b.rows_out, b.probs_out);
  });
}

Experiments DispatchExperiments(Gpu& gpu) {
  Experiments all = RoutingExperiments(gpu);
  for (const Way way : {Way::kPermute, Way::kPermuteGrad, Way::kUnpermute, Way::kUnpermuteGrad, Way::kSort}) {
    all.push_back(std::make_unique<RowMovement>(gpu, way, gpu.shape.topk, 0));
  }
  for (const int topk : kTopks) {
    if (topk == gpu.shape.topk || topk > gpu.shape.experts) continue;
    for (const Way way : {Way::kPermute, Way::kPermuteGrad, Way::kUnpermute, Way::kUnpermuteGrad}) {
      all.push_back(std::make_unique<RowMovement>(gpu, way, topk, 2));
    }
  }
  return all;
}

}  // namespace flightplan::probe
