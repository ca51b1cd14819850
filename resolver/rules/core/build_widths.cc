// Widths of linear layers that tensor parallelism or FP8 cannot take; construction or the first step stops
// (NVIDIA/Megatron-LM@d98e8a64dd unless a source says otherwise).
#include <algorithm>
#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"
#include "resolver/base/integers.h"
#include "resolver/rules/core/fix_util.h"
#include "resolver/rules/core/hybrid_util.h"
#include "resolver/rules/core/lists_util.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

bool HasExperts(F f) { return f.num(K::num_moe_experts) > 0 && (!HasPattern(f) || PatternNames(f, 'E')); }
bool HasDenseMlp(F f) {
  if (IsHybridModel(f)) return PatternNames(f, '-');
  const Value& freq = f.value(K::moe_layer_freq);
  return f.num(K::num_moe_experts) <= 0 || (freq.is_list() ? ListHasNumber(freq, 0) : freq.integer() > 1);
}

// A feed-forward width, and the ranks that it is split over.
struct Width {
  K size, ranks;
  bool (*has)(F f);
};
constexpr Width kWidths[] = {
    {K::ffn_hidden_size, K::tensor_model_parallel_size, HasDenseMlp},
    {K::moe_shared_expert_intermediate_size, K::tensor_model_parallel_size, HasExperts},
    {K::moe_ffn_hidden_size, K::expert_tensor_parallel_size, HasExperts},
};

int64_t RanksOf(F f, K ranks) {
  return std::max<int64_t>(1, f.num(f.set(ranks) ? ranks : K::tensor_model_parallel_size));
}
using Fits = bool (*)(int64_t size, int64_t ranks);
bool IsEven(int64_t size, int64_t ranks) { return Divisible(size, ranks); }
constexpr int64_t kFp8Width = 16;
bool IsFp8Width(int64_t size, int64_t ranks) { return !Divisible(size, ranks) || Divisible(size / ranks, kFp8Width); }

// Dense layers at the ends of a model may stay in BF16.
bool DenseStaysInBf16(F f) {
  const Value& freq = f.value(K::moe_layer_freq);
  if (!f.on(K::first_last_layers_bf16) || !freq.is_list()) return false;
  const auto layers = static_cast<int64_t>(freq.list().size());
  for (int64_t i = f.num(K::num_layers_at_start_in_bf16); i < layers - f.num(K::num_layers_at_end_in_bf16); ++i) {
    if (i >= 0 && freq.list()[static_cast<size_t>(i)].integer() == 0) return false;
  }
  return true;
}
bool Runs(F f, const Width& width, Fits fits) {
  const bool bf16 = fits == IsFp8Width && width.has == HasDenseMlp && DenseStaysInBf16(f);
  return f.set(width.size) && width.has(f) && !bf16;
}

std::string Misfits(F f, Fits fits) {
  std::string text;
  for (const Width& width : kWidths) {
    const int64_t ranks = RanksOf(f, width.ranks);
    if (f.fork() || !Runs(f, width, fits) || fits(f.num(width.size), ranks)) continue;
    absl::StrAppend(&text, text.empty() ? "" : ", ", Name(width.size), "=", f.num(width.size), " over ",
                    Name(width.ranks), "=", ranks);
  }
  return text;
}

// As few ranks as it takes, of those that divide what is now; nothing where one alone would not do.
Patch FewerRanks(F f, Fits fits) {
  Patch patch;
  for (const K ranks : {K::tensor_model_parallel_size, K::expert_tensor_parallel_size}) {
    const int64_t now = RanksOf(f, ranks);
    int64_t by = now;
    const auto fit = [&](const Width& width) {
      return width.ranks != ranks || !Runs(f, width, fits) || fits(f.num(width.size), by);
    };
    while (by > 1 && !std::all_of(std::begin(kWidths), std::end(kWidths), fit)) by = LargestDivisorUpTo(now, by - 1);
    if (!std::all_of(std::begin(kWidths), std::end(kWidths), fit)) return {};
    if (by != now) patch.push_back(Assign(ranks, by));
    if (by == 1 && ranks == K::tensor_model_parallel_size && f.on(K::sequence_parallel)) {
      patch.push_back(Assign(K::sequence_parallel, false));
    }
  }
  return patch;
}

// Inputs of linear layers that no parallel size changes.
bool OddWholeWidth(F f) { return !f.fork() && !Divisible(f.num(K::hidden_size), kFp8Width); }
bool UsesFp8(F f) { return f.on(K::fp8) && f.is(K::transformer_impl, "transformer_engine"); }

const Rule kRules[] = {
    {.id = "build.mlp-divisible-by-tp",
     .area = "divisibility",
     .at = {Phase::kBuild, 319, 1},
     .source = "Megatron-LM:megatron/core/utils.py:592",
     .reads = {K::ffn_hidden_size, K::moe_shared_expert_intermediate_size, K::tensor_model_parallel_size,
               K::moe_ffn_hidden_size, K::expert_tensor_parallel_size, K::moe_layer_freq},
     .when = [](F f) { return !Misfits(f, IsEven).empty(); },
     .needs = "tensor_model_parallel_size divides the widths of dense layers and shared experts, and "
              "expert_tensor_parallel_size that of routed experts",
     .fix = [](F f) { return std::vector<Patch>{FewerRanks(f, IsEven)}; },
     .detail = [](F f) { return Misfits(f, IsEven); }},
    {.id = "fp8.widths-multiple-of-16",
     .area = "fp8",
     .at = {Phase::kHardware, 105, 1},
     .source = "NVIDIA Transformer Engine: transformer_engine/pytorch/utils.py, assert_dim_for_fp8_exec; "
               "common/gemm/cublaslt_gemm.cu",
     .reads = {K::fp8, K::hidden_size, K::ffn_hidden_size, K::moe_shared_expert_intermediate_size,
               K::tensor_model_parallel_size, K::moe_ffn_hidden_size, K::expert_tensor_parallel_size,
               K::first_last_layers_bf16},
     .when = [](F f) { return UsesFp8(f) && (OddWholeWidth(f) || !Misfits(f, IsFp8Width).empty()); },
     .needs = "FP8 multiplies rows of a multiple of 16 numbers: hidden_size, and each rank's part of the feed-forward "
              "widths",
     .fix =
         [](F f) {
           std::vector<Patch> patches = {WithoutFp8(f)};
           Patch fewer = OddWholeWidth(f) ? Patch() : FewerRanks(f, IsFp8Width);
           if (!fewer.empty()) patches.insert(patches.begin(), std::move(fewer));
           return patches;
         },
     .detail = [](F f) { return Misfits(f, IsFp8Width); }},
};

}  // namespace

RuleList CoreBuildWidthsRules() { return kRules; }

}  // namespace flightplan
