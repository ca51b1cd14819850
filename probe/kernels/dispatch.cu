// What a MoE layer does to its rows on either side of the exchange: route, sort by expert, bring back.
#include <algorithm>
#include <cmath>

#include "probe/kernels/copies.cuh"
#include "probe/kernels/dispatch.cuh"
#include "probe/kernels/shapes.h"

namespace flightplan::probe {
namespace {

constexpr int kMostTopk = 16, kMostExperts = 256;
constexpr int kRowThreads = 256;
constexpr int kMapTokens = 256;  // of one block of the map
constexpr int kMapWords = kMapTokens / 32;
constexpr uint32_t kSeedRows = 21, kSeedProbs = 22, kSeedLogits = 23, kSeedGrad = 24;

// One warp a token: softmax over all experts, then K times the largest left. Equal ones: the first.
__global__ void TopkKernel(const float* logits, int tokens, int experts, int topk, float* probs, int* chosen,
                           unsigned char* mask) {
  constexpr int kPerLane = kMostExperts / 32;
  const int token = static_cast<int>(blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32);
  const int lane = static_cast<int>(threadIdx.x % 32);
  if (token >= tokens) return;
  float value[kPerLane];
  float largest = -INFINITY;
#pragma unroll
  for (int i = 0; i < kPerLane; ++i) {
    const int expert = i * 32 + lane;
    value[i] = expert < experts ? __ldcs(logits + static_cast<int64_t>(token) * experts + expert) : -INFINITY;
    largest = fmaxf(largest, value[i]);
  }
  for (int step = 16; step > 0; step /= 2) largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, step));
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kPerLane; ++i) {
    value[i] = expf(value[i] - largest);
    sum += value[i];
  }
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
  unsigned taken = 0;  // of this lane's experts
  for (int k = 0; k < topk; ++k) {
    float best = -1;
    int best_expert = kMostExperts;
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) {
      const bool better = (taken >> i & 1) == 0 && i * 32 + lane < experts && value[i] > best;
      best = better ? value[i] : best;
      best_expert = better ? i * 32 + lane : best_expert;
    }
    for (int step = 16; step > 0; step /= 2) {
      const float other = __shfl_xor_sync(~0u, best, step);
      const int other_expert = __shfl_xor_sync(~0u, best_expert, step);
      if (other > best || (other == best && other_expert < best_expert)) best = other, best_expert = other_expert;
    }
    if (best_expert % 32 == lane) taken |= 1u << (best_expert / 32);
    if (lane == 0) {
      probs[static_cast<int64_t>(token) * topk + k] = best / sum;
      chosen[static_cast<int64_t>(token) * topk + k] = best_expert;
    }
  }
#pragma unroll
  for (int i = 0; i < kPerLane; ++i) {
    const int expert = i * 32 + lane;
    if (expert < experts) mask[static_cast<int64_t>(token) * experts + expert] = taken >> i & 1;
  }
}

// Which of the block's tokens chose an expert, one bit a token: a token's rank among them is a count of bits, and the
// order of tokens is kept whatever order the threads run in.
__device__ inline void CollectTokens(const int* experts, int tokens, int expert_count, int topk,
                                     uint32_t (*bits)[kMapWords]) {
  for (int i = static_cast<int>(threadIdx.x); i < expert_count * kMapWords; i += static_cast<int>(blockDim.x)) {
    bits[i / kMapWords][i % kMapWords] = 0;
  }
  __syncthreads();
  const int first = static_cast<int>(blockIdx.x) * kMapTokens;
  const int entries = min(kMapTokens, tokens - first) * topk;
  for (int i = static_cast<int>(threadIdx.x); i < entries; i += static_cast<int>(blockDim.x)) {
    const int local = i / topk;
    atomicOr(&bits[experts[static_cast<int64_t>(first) * topk + i]][local / 32], 1u << (local % 32));
  }
  __syncthreads();
}

__global__ void CountKernel(const int* experts, int tokens, int expert_count, int topk, int* counts) {
  __shared__ uint32_t bits[kMostExperts][kMapWords];
  CollectTokens(experts, tokens, expert_count, topk, bits);
  for (int e = static_cast<int>(threadIdx.x); e < expert_count; e += static_cast<int>(blockDim.x)) {
    int count = 0;
    for (int w = 0; w < kMapWords; ++w) count += __popc(bits[e][w]);
    counts[static_cast<int64_t>(blockIdx.x) * expert_count + e] = count;
  }
}

// One block, a thread per expert: counts become the first row of every (block, expert).
__global__ void ScanKernel(int* counts, int blocks, int expert_count) {
  __shared__ int total[kMostExperts];
  const int e = static_cast<int>(threadIdx.x);
  int sum = 0;
  for (int b = 0; e < expert_count && b < blocks; ++b) sum += counts[b * expert_count + e];
  total[e] = sum;
  __syncthreads();
  for (int step = 1; step < kMostExperts; step *= 2) {
    const int before = e >= step ? total[e - step] : 0;
    __syncthreads();
    total[e] += before;
    __syncthreads();
  }
  int row = total[e] - sum;
  for (int b = 0; e < expert_count && b < blocks; ++b) {
    const int count = counts[b * expert_count + e];
    counts[b * expert_count + e] = row;
    row += count;
  }
}

__global__ void PlaceKernel(const int* experts, int tokens, int expert_count, int topk, const int* first_rows,
                            int* map) {
  __shared__ uint32_t bits[kMostExperts][kMapWords];
  CollectTokens(experts, tokens, expert_count, topk, bits);
  const int first = static_cast<int>(blockIdx.x) * kMapTokens;
  const int entries = min(kMapTokens, tokens - first) * topk;
  for (int i = static_cast<int>(threadIdx.x); i < entries; i += static_cast<int>(blockDim.x)) {
    const int64_t at = static_cast<int64_t>(first) * topk + i;
    const int local = i / topk, expert = experts[at];
    int rank = __popc(bits[expert][local / 32] & ((1u << (local % 32)) - 1));
    for (int w = 0; w < local / 32; ++w) rank += __popc(bits[expert][w]);
    map[at] = first_rows[static_cast<int64_t>(blockIdx.x) * expert_count + expert] + rank;
  }
}

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

// The K rows of a token, summed in fp32; times their probabilities where there are any.
template <int kTopk>
__global__ void __launch_bounds__(kRowThreads)
    CombineKernel(const uint4* rows, const int* map, const float* probs, int words, uint4* out) {
  const int64_t token = blockIdx.x;
  int places[kTopk];
  float weights[kTopk];
#pragma unroll
  for (int k = 0; k < kTopk; ++k) {
    places[k] = map[token * kTopk + k];
    weights[k] = probs == nullptr ? 1.0f : probs[token * kTopk + k];
  }
  for (int i = static_cast<int>(threadIdx.x); i < words; i += kRowThreads) {
    uint4 held[kTopk];
#pragma unroll
    for (int k = 0; k < kTopk; ++k) held[k] = LoadOnce(rows + static_cast<int64_t>(places[k]) * words + i);
    float sum[8] = {};
#pragma unroll
    for (int k = 0; k < kTopk; ++k) {
      float x[8];
      Unpack(held[k], x);
#pragma unroll
      for (int j = 0; j < 8; ++j) sum[j] += weights[k] * x[j];
    }
    StoreOnce(out + token * words + i, Pack(sum));
  }
}

// Gradient of the weighted sum: every expert's row gets the token's gradient times its probability; the probability
// gets the product of both rows.
template <int kTopk>
__global__ void __launch_bounds__(kRowThreads, 3)
    CombineGradKernel(const uint4* grad, const uint4* rows, const int* map, const float* probs, int words, uint4* out,
                      float* probs_grad) {
  const int64_t token = blockIdx.x;
  int places[kTopk];
  float weights[kTopk], products[kTopk] = {};
#pragma unroll
  for (int k = 0; k < kTopk; ++k) {
    places[k] = map[token * kTopk + k];
    weights[k] = probs[token * kTopk + k];
  }
  for (int i = static_cast<int>(threadIdx.x); i < words; i += kRowThreads) {
    uint4 held[kTopk];
#pragma unroll
    for (int k = 0; k < kTopk; ++k) held[k] = LoadOnce(rows + static_cast<int64_t>(places[k]) * words + i);
    float g[8];
    Unpack(LoadOnce(grad + token * words + i), g);
#pragma unroll
    for (int k = 0; k < kTopk; ++k) {
      float x[8], scaled[8];
      Unpack(held[k], x);
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        scaled[j] = weights[k] * g[j];
        products[k] += x[j] * g[j];
      }
      StoreOnce(out + static_cast<int64_t>(places[k]) * words + i, Pack(scaled));
    }
  }
  __shared__ float of_warp[kRowThreads / 32][kTopk];
#pragma unroll
  for (int k = 0; k < kTopk; ++k) {
    for (int step = 16; step > 0; step /= 2) products[k] += __shfl_xor_sync(~0u, products[k], step);
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

std::map<std::string, double> Parameters(const MoeShape& s) {
  return {{"tokens", s.tokens}, {"hidden", s.hidden}, {"topk", s.topk}, {"experts", s.experts}};
}
double Count(int64_t n) { return static_cast<double>(n); }

class Router : public WindowExperiment {
 public:
  explicit Router(Gpu& gpu) : WindowExperiment(gpu) { SetRow("router.topk", "us", 0, Parameters(shape_)); }

 protected:
  Status Allocate() override {
    const int64_t logits = int64_t{shape_.tokens} * shape_.experts;
    sets_ = 8;  // activations of this size live in the cache in training too
    for (int set = 0; set < sets_; ++set) {
      TRY(gpu_.arena.Get(logits, &logits_[set]));
      TRY(FillFloat(gpu_.stream, logits_[set], logits, kSeedLogits, 1));
    }
    TRY(gpu_.arena.Get(shape_.rows(), &probs_));
    TRY(gpu_.arena.Get(shape_.rows(), &chosen_));
    return gpu_.arena.Get(logits, &mask_);
  }
  Status Launch(cudaStream_t stream, int set) override {
    constexpr int kWarps = 8;
    return RunKernel({stream, CeilDiv(shape_.tokens, kWarps), 32 * kWarps}, TopkKernel, logits_[set], shape_.tokens,
                     shape_.experts, shape_.topk, probs_, chosen_, mask_);
  }
  Status Check() override {
    TRY(Poison(gpu_.stream, probs_, 4 * shape_.rows()));
    TRY(Poison(gpu_.stream, chosen_, 4 * shape_.rows()));
    TRY(Poison(gpu_.stream, mask_, int64_t{shape_.tokens} * shape_.experts));
    TRY(Launch(gpu_.stream, 0));
    std::vector<float> probs(static_cast<size_t>(shape_.rows()));
    std::vector<int> chosen(probs.size());
    std::vector<unsigned char> mask(static_cast<size_t>(shape_.tokens) * static_cast<size_t>(shape_.experts));
    TRY(Download(gpu_.stream, probs_, 4 * shape_.rows(), probs.data()));
    TRY(Download(gpu_.stream, chosen_, 4 * shape_.rows(), chosen.data()));
    TRY(Download(gpu_.stream, mask_, static_cast<int64_t>(mask.size()), mask.data()));
    Comparison comparison;
    const size_t experts = static_cast<size_t>(shape_.experts), topk = static_cast<size_t>(shape_.topk);
    for (size_t token = 0; token < static_cast<size_t>(shape_.tokens); token += 37) {
      std::vector<std::pair<double, size_t>> ordered;
      double sum = 0;
      for (size_t e = 0; e < experts; ++e) {
        const double x = std::exp(static_cast<double>(ScaledAt(kSeedLogits, token * experts + e, 1)));
        ordered.emplace_back(-x, e);
        sum += x;
      }
      std::sort(ordered.begin(), ordered.end());
      for (size_t k = 0; k < topk; ++k) {
        const size_t expert = ordered[k].second;
        if (chosen[token * topk + k] != static_cast<int>(expert))
          return Fail(Code::kWithheld, "the router chose wrongly");
        if (mask[token * experts + expert] != 1) return Fail(Code::kWithheld, "the routing map lacks a choice");
        comparison.Add(static_cast<double>(probs[token * topk + k]), -ordered[k].first / sum);
      }
      const auto row = mask.begin() + static_cast<std::ptrdiff_t>(token * experts);
      if (std::count(row, row + shape_.experts, 0) != shape_.experts - shape_.topk) {
        return Fail(Code::kWithheld, "the routing map has too many choices");
      }
    }
    return comparison.Verdict("the router's probabilities", kFloatTolerance);
  }

 private:
  MoeShape shape_ = gpu_.shape;
  float* logits_[8] = {};
  float* probs_ = nullptr;
  int* chosen_ = nullptr;
  unsigned char* mask_ = nullptr;
};

class MapMaking : public WindowExperiment {
 public:
  explicit MapMaking(Gpu& gpu) : WindowExperiment(gpu) { SetRow("permute.map", "us", 0, Parameters(shape_)); }

 protected:
  Status Allocate() override {
    experts_host_ = RandomExperts(shape_);
    blocks_ = CeilDiv(shape_.tokens, kMapTokens);
    TRY(gpu_.arena.Get(shape_.rows(), &experts_));
    TRY(gpu_.arena.Get(shape_.rows(), &map_));
    TRY(gpu_.arena.Get(int64_t{blocks_} * shape_.experts, &counts_));
    return Upload(gpu_.stream, experts_host_.data(), 4 * shape_.rows(), experts_);
  }
  Status Launch(cudaStream_t stream, int) override {
    TRY(RunKernel({stream, blocks_, 256}, CountKernel, experts_, shape_.tokens, shape_.experts, shape_.topk, counts_));
    TRY(RunKernel({stream, 1, kMostExperts}, ScanKernel, counts_, blocks_, shape_.experts));
    return RunKernel({stream, blocks_, 256}, PlaceKernel, experts_, shape_.tokens, shape_.experts, shape_.topk, counts_,
                     map_);
  }
  Status Check() override {
    TRY(Poison(gpu_.stream, map_, 4 * shape_.rows()));
    TRY(Launch(gpu_.stream, 0));
    std::vector<int> map(experts_host_.size());
    TRY(Download(gpu_.stream, map_, 4 * shape_.rows(), map.data()));
    return map == RowMap(shape_, experts_host_) ? Ok() : Fail(Code::kWithheld, "the row map is wrong");
  }

 private:
  MoeShape shape_ = gpu_.shape;
  std::vector<int> experts_host_;
  int *experts_ = nullptr, *map_ = nullptr, *counts_ = nullptr;
  int blocks_ = 0;
};

enum class Way { kPermute, kPermuteGrad, kUnpermute, kUnpermuteGrad, kSort };

class RowMovement : public WindowExperiment {
 public:
  RowMovement(Gpu& gpu, Way way) : WindowExperiment(gpu), way_(way) {
    const int64_t wide = shape_.token_bytes() * shape_.tokens, rows = shape_.token_bytes() * shape_.rows();
    const int64_t counted[] = {wide + rows + 12 * shape_.rows(), rows + wide, rows + wide + 8 * shape_.rows(),
                               wide + 2 * rows + 4 * shape_.rows(), 2 * rows};
    const char* const ids[] = {"permute.fwd", "permute.bwd", "unpermute.fwd", "unpermute.bwd", "chunk.sort"};
    const size_t i = static_cast<size_t>(way);
    SetRow(ids[i], "bytes_per_second", Count(counted[i]), Parameters(shape_));
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
  return RunKernel({stream, b.token_count, kRowThreads}, PermuteKernel, b.tokens, b.map, b.probs, b.hidden / 8, kTopk,
                   b.rows, b.probs_out);
}

Status LaunchCombine(cudaStream_t stream, const RowBuffers& b, bool with_probs) {
  return RunKernel({stream, b.token_count, kRowThreads}, CombineKernel<kTopk>, b.rows, b.map,
                   with_probs ? b.probs : nullptr, b.hidden / 8, b.tokens);
}

Status LaunchCombineGrad(cudaStream_t stream, const RowBuffers& b) {
  return RunKernel({stream, b.token_count, kRowThreads}, CombineGradKernel<kTopk>, b.tokens, b.rows, b.map, b.probs,
                   b.hidden / 8, b.rows_out, b.probs_out);
}

Experiments DispatchExperiments(Gpu& gpu) {
  Experiments all;
  all.push_back(std::make_unique<Router>(gpu));
  all.push_back(std::make_unique<MapMaking>(gpu));
  for (const Way way : {Way::kPermute, Way::kPermuteGrad, Way::kUnpermute, Way::kUnpermuteGrad, Way::kSort}) {
    all.push_back(std::make_unique<RowMovement>(gpu, way));
  }
  return all;
}

}  // namespace flightplan::probe
