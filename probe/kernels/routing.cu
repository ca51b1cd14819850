// Where a token's rows go: the router's choice of experts, and the map of rows that follows from it.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "probe/kernels/copies.cuh"
#include "probe/kernels/routing.cuh"
#include "probe/kernels/shapes.h"

namespace flightplan::probe {
namespace {

constexpr int kMapTokens = 256;  // of one block of the map
constexpr int kMapWords = kMapTokens / 32;
constexpr uint32_t kSeedLogits = 23;

// Kernels are built for so many experts at most: what a warp or a block holds of each is sized by it.
constexpr int kSizes[] = {256, 512, kMostExperts};

// Calls `launch` with the first of kSizes that holds the experts, as a constant.
template <class Launch>
Status ForSize(int experts, const Launch& launch) {
  if (experts <= kSizes[0]) return launch(std::integral_constant<int, kSizes[0]>());
  if (experts <= kSizes[1]) return launch(std::integral_constant<int, kSizes[1]>());
  return launch(std::integral_constant<int, kSizes[2]>());
}

// One warp a token: softmax over all experts, then K times the largest left. Equal ones: the first.
template <int kExperts>
__global__ void TopkKernel(const float* logits, int tokens, int experts, int topk, float* probs, int* chosen,
                           unsigned char* mask) {
  constexpr int kPerLane = kExperts / 32;
  static_assert(kPerLane <= 32, "`taken` has a bit for each");
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
  sum = WarpSum(sum);
  unsigned taken = 0;  // of this lane's experts
  for (int k = 0; k < topk; ++k) {
    float best = -1;
    int best_expert = kExperts;
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

template <int kExperts>
__global__ void CountKernel(const int* experts, int tokens, int expert_count, int topk, int* counts) {
  __shared__ uint32_t bits[kExperts][kMapWords];
  CollectTokens(experts, tokens, expert_count, topk, bits);
  for (int e = static_cast<int>(threadIdx.x); e < expert_count; e += static_cast<int>(blockDim.x)) {
    int count = 0;
    for (int w = 0; w < kMapWords; ++w) count += __popc(bits[e][w]);
    counts[static_cast<int64_t>(blockIdx.x) * expert_count + e] = count;
  }
}

// One block, a thread per expert: counts become the first row of every (block, expert).
template <int kExperts>
__global__ void ScanKernel(int* counts, int blocks, int expert_count) {
  __shared__ int total[kExperts];
  const int e = static_cast<int>(threadIdx.x);
  int sum = 0;
  for (int b = 0; e < expert_count && b < blocks; ++b) sum += counts[b * expert_count + e];
  total[e] = sum;
  __syncthreads();
  for (int step = 1; step < kExperts; step *= 2) {
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

template <int kExperts>
__global__ void PlaceKernel(const int* experts, int tokens, int expert_count, int topk, const int* first_rows,
                            int* map) {
  __shared__ uint32_t bits[kExperts][kMapWords];
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

std::string Choice(size_t token, size_t k) {
  return "the router's choice " + std::to_string(k) + " of token " + std::to_string(token);
}

class Router : public WindowExperiment {
 public:
  explicit Router(Gpu& gpu) : WindowExperiment(gpu) { SetRow("router.topk", "us", 0, RoutedParameters(shape_)); }

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
    return ForSize(shape_.experts, [&](auto size) {
      return RunKernel({stream, CeilDiv(shape_.tokens, kWarps), 32 * kWarps}, TopkKernel<size>, logits_[set],
                       shape_.tokens, shape_.experts, shape_.topk, probs_, chosen_, mask_);
    });
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
        if (chosen[token * topk + k] != static_cast<int>(expert)) {
          return Fail(Code::kWithheld, Choice(token, k) + " is expert " + std::to_string(chosen[token * topk + k]) +
                                           ", and " + std::to_string(expert) + " is next by probability");
        }
        if (mask[token * experts + expert] != 1) {
          return Fail(Code::kWithheld,
                      Choice(token, k) + ", expert " + std::to_string(expert) + ", is not in the routing map");
        }
        comparison.Add(static_cast<double>(probs[token * topk + k]), -ordered[k].first / sum);
      }
      const auto row = mask.begin() + static_cast<std::ptrdiff_t>(token * experts);
      if (const auto set = shape_.experts - std::count(row, row + shape_.experts, 0); set != shape_.topk) {
        return Fail(Code::kWithheld, "the routing map has " + std::to_string(set) + " experts of token " +
                                         std::to_string(token) + ", and " + std::to_string(shape_.topk) +
                                         " were chosen");
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
  explicit MapMaking(Gpu& gpu) : WindowExperiment(gpu) { SetRow("permute.map", "us", 0, RoutedParameters(shape_)); }

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
    return ForSize(shape_.experts, [&](auto size) {
      TRY(RunKernel({stream, blocks_, 256}, CountKernel<size>, experts_, shape_.tokens, shape_.experts, shape_.topk,
                    counts_));
      TRY(RunKernel({stream, 1, size}, ScanKernel<size>, counts_, blocks_, shape_.experts));
      return RunKernel({stream, blocks_, 256}, PlaceKernel<size>, experts_, shape_.tokens, shape_.experts, shape_.topk,
                       counts_, map_);
    });
  }
  Status Check() override {
    TRY(Poison(gpu_.stream, map_, 4 * shape_.rows()));
    TRY(Launch(gpu_.stream, 0));
    std::vector<int> map(experts_host_.size());
    TRY(Download(gpu_.stream, map_, 4 * shape_.rows(), map.data()));
    const std::vector<int> want = RowMap(shape_, experts_host_);
    const auto [wrong, right] = std::mismatch(map.begin(), map.end(), want.begin());
    if (wrong == map.end()) return Ok();
    return Fail(Code::kWithheld, "the row map sends entry " + std::to_string(wrong - map.begin()) + " to row " +
                                     std::to_string(*wrong) + ", and its row is " + std::to_string(*right));
  }

 private:
  MoeShape shape_ = gpu_.shape;
  std::vector<int> experts_host_;
  int *experts_ = nullptr, *map_ = nullptr, *counts_ = nullptr;
  int blocks_ = 0;
};

}  // namespace

Experiments RoutingExperiments(Gpu& gpu) {
  Experiments all;
  all.push_back(std::make_unique<Router>(gpu));
  all.push_back(std::make_unique<MapMaking>(gpu));
  return all;
}

}  // namespace flightplan::probe
