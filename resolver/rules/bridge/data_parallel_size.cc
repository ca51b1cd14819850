// The data-parallel size: the GPUs of the job over the sizes of one copy of the model
// (NVIDIA-NeMo/Megatron-Bridge@067f987df src/megatron/bridge/training/config.py). It runs before what CommOverlapConfig
// checks, which asks for the size.
#include <algorithm>
#include <numeric>
#include <vector>

#include "absl/strings/str_cat.h"
#include "resolver/base/saturating.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

int64_t ModelSize(F f) {
  return SaturatingMul(SaturatingMul(f.num(K::tensor_model_parallel_size), f.num(K::pipeline_model_parallel_size)),
                       f.num(K::context_parallel_size));
}
bool WorldIndivisible(F f) {
  const int64_t size = ModelSize(f);
  if (size == 0) return true;  // upstream divides by it
  return f.env().world_size.has_value() && *f.env().world_size % size != 0;
}
// Each of the three sizes made smaller until the GPUs divide; a size that is no size becomes 1.
std::vector<Patch> DivisibleSizes(F f) {
  constexpr K kSizes[] = {K::context_parallel_size, K::pipeline_model_parallel_size, K::tensor_model_parallel_size};
  Patch repaired;
  for (K knob : kSizes) {
    if (f.num(knob) < 1) repaired.push_back(Assign(knob, 1));
  }
  if (!repaired.empty()) return {repaired};
  std::vector<Patch> patches;
  for (K knob : kSizes) {
    const int64_t others = ModelSize(f) / f.num(knob);
    const int64_t largest = std::min(f.num(knob) - 1, *f.env().world_size);
    for (int64_t size = largest; size >= 1; --size) {
      if (*f.env().world_size % SaturatingMul(others, size) != 0) continue;
      const bool uneven_heads = knob == K::tensor_model_parallel_size && f.num(K::num_attention_heads) % size != 0;
      if (uneven_heads) continue;
      patches.push_back({Assign(knob, size)});
      break;
    }
  }
  if (!patches.empty()) return patches;
  // No single one will do: the largest divisors of what is left, tensor parallelism first.
  Patch all;
  int64_t left = *f.env().world_size;
  for (K knob : {K::tensor_model_parallel_size, K::pipeline_model_parallel_size, K::context_parallel_size}) {
    const int64_t size = std::gcd(f.num(knob), left);
    if (size != f.num(knob)) all.push_back(Assign(knob, size));
    left /= size;
  }
  return {all};
}

const Rule kRules[] = {
    {.id = "dp.world-divisible",
     .area = "divisibility",
     .at = {Phase::kCommOverlap, 1},
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1024",
     .reads = {K::tensor_model_parallel_size, K::pipeline_model_parallel_size, K::context_parallel_size},
     .reads_env = {"world_size"},
     .when = WorldIndivisible,
     .needs = "the number of GPUs is a multiple of TP x PP x CP",
     .fix = DivisibleSizes,
     .detail = [](F f) { return absl::StrCat("TP x PP x CP = ", ModelSize(f)); }},
    {.id = "dp.data-parallel-size",
     .area = "parallelism",
     .kind = Kind::kChange,
     .at = {Phase::kCommOverlap, 2},
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1029",
     .reads = {K::tensor_model_parallel_size, K::pipeline_model_parallel_size, K::context_parallel_size},
     .reads_env = {"world_size"},
     .change =
         [](Editor& e) {
           const Facts& f = e.facts();
           const int64_t size = ModelSize(f);
           if (f.env().world_size.has_value()) {
             if (size > 0 && !WorldIndivisible(f)) e.Fill(K::data_parallel_size, *f.env().world_size / size);
           } else if (f.env().data_parallel_size.has_value()) {
             e.Fill(K::data_parallel_size, *f.env().data_parallel_size);
           }
         }},
};

}  // namespace

RuleList BridgeDataParallelSizeRules() { return kRules; }

}  // namespace flightplan
