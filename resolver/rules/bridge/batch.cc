// The batches of training and validation in ConfigContainer.validate, and the calculator that counts microbatches.
// Lines are those of NVIDIA-NeMo/Megatron-Bridge@067f987df src/megatron/bridge/training/config.py.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "resolver/base/saturating.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

constexpr Place At(int line) { return {Phase::kContainer, line}; }

// The ranks of one tensor-parallel rank and pipeline stage.
int64_t TrainingRanks(F f) { return SaturatingMul(f.num(K::data_parallel_size), f.num(K::context_parallel_size)); }

// The data-parallel size during validation, which may have a context parallelism of its own. 0: not known.
int64_t EvalDataParallelSize(F f) {
  const int64_t dp = f.num(K::data_parallel_size);
  if (f.none(K::eval_context_parallel_size)) return dp;
  const int64_t eval_cp = f.num(K::eval_context_parallel_size);
  return eval_cp > 0 ? TrainingRanks(f) / eval_cp : 0;
}
int64_t EvalGlobalBatch(F f) {
  return f.num(f.set(K::eval_global_batch_size) ? K::eval_global_batch_size : K::global_batch_size);
}
int64_t EvalMicroBatch(F f) {
  return f.num(f.set(K::eval_micro_batch_size) ? K::eval_micro_batch_size : K::micro_batch_size);
}
int64_t EvalStep(F f) { return SaturatingMul(EvalMicroBatch(f), EvalDataParallelSize(f)); }
bool EvalBatchIndivisible(F f) {
  const int64_t step = EvalStep(f);
  return step > 0 && EvalGlobalBatch(f) % step != 0;
}
// By the caller's own word: what a recipe sets is not seen in a class's default.
bool UnsetForBoth(F f, K training, K validation) { return f.given(training) && f.none(training) && f.none(validation); }
int64_t TrainingStep(F f) { return SaturatingMul(f.num(K::micro_batch_size), f.num(K::data_parallel_size)); }
bool TrainingBatchIndivisible(F f) {
  const int64_t step = TrainingStep(f);
  return step > 0 && f.num(K::global_batch_size) > 0 && f.num(K::global_batch_size) % step != 0;
}
// A smaller micro batch keeps what is trained; else the batch is rounded up.
std::vector<Patch> EvenTrainingBatch(F f) {
  constexpr int64_t kMostTried = 4096;
  const int64_t batch = f.num(K::global_batch_size), dp = f.num(K::data_parallel_size);
  Patch validation;  // follows the training batch again
  for (const K knob : {K::eval_global_batch_size, K::eval_micro_batch_size}) {
    if (f.set(knob)) validation.push_back(Assign(knob, Value()));
  }
  std::vector<Patch> patches;
  for (int64_t micro = std::min(kMostTried, f.num(K::micro_batch_size)) - 1; micro >= 1; --micro) {
    if (batch % SaturatingMul(micro, dp) != 0) continue;
    patches.push_back({Assign(K::micro_batch_size, micro)});
    break;
  }
  const int64_t step = TrainingStep(f);
  patches.push_back({Assign(K::global_batch_size, SaturatingMul(batch / step + 1, step))});
  for (Patch& patch : patches) patch.insert(patch.end(), validation.begin(), validation.end());
  return patches;
}

const Rule kRules[] = {
    {.id = "batch.eval-follows-nothing",
     .area = "divisibility",
     .at = At(1439),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1439",
     .bridge = {.since = 5},
     .reads = {K::global_batch_size, K::micro_batch_size, K::eval_global_batch_size, K::eval_micro_batch_size},
     .when =
         [](F f) {
           return UnsetForBoth(f, K::global_batch_size, K::eval_global_batch_size) ||
                  UnsetForBoth(f, K::micro_batch_size, K::eval_micro_batch_size);
         },
     .needs = "validation takes the batch of training where it has none of its own, so that one of them must be set",
     .fix =
         [](F f) {
           std::vector<Patch> patches;
           if (!UnsetForBoth(f, K::global_batch_size, K::eval_global_batch_size)) {
             patches.push_back({Assign(K::micro_batch_size, 1)});
           }
           return patches;
         }},
    {.id = "batch.eval-cp-divides-world",
     .area = "divisibility",
     .at = At(1467),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1467",
     .bridge = {.since = 6},
     .reads = {K::eval_context_parallel_size, K::context_parallel_size, K::data_parallel_size},
     .when =
         [](F f) {
           const int64_t eval_cp = f.num(K::eval_context_parallel_size);
           return f.set(K::eval_context_parallel_size) && (eval_cp == 0 || TrainingRanks(f) % eval_cp != 0);
         },
     .needs = "the ranks that training gives to CP and DP must divide into validation's context-parallel groups",
     .fixes = {{{K::eval_context_parallel_size, kUnset}}},
     .detail = [](F f) { return absl::StrCat("CP x DP = ", TrainingRanks(f)); }},
    {.id = "batch.eval-gbs-divisible",
     .area = "divisibility",
     .at = At(1474),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1474",
     .bridge = {.since = 5},
     .reads = {K::global_batch_size, K::micro_batch_size, K::eval_global_batch_size, K::eval_micro_batch_size,
               K::data_parallel_size},
     .when = EvalBatchIndivisible,
     .needs = "the global batch, of training and of validation, which follows it where it is not set, is a multiple of "
              "micro batch x DP",
     .fix =
         [](F f) {
           // Validation alone can be rounded up where training comes out even.
           if (TrainingBatchIndivisible(f)) return EvenTrainingBatch(f);
           const int64_t step = EvalStep(f);
           const int64_t next = SaturatingMul(EvalGlobalBatch(f) / step + 1, step);
           return std::vector<Patch>{{Assign(K::eval_global_batch_size, next)}};
         },
     .detail = [](F f) -> std::string {
       if (!TrainingBatchIndivisible(f)) {
         return absl::StrCat("validation: ", EvalGlobalBatch(f), " is no multiple of ", EvalStep(f));
       }
       return absl::StrCat("training: ", f.num(K::global_batch_size), " is no multiple of ", TrainingStep(f));
     }},
    {.id = "batch.gbs-divisible",
     .area = "divisibility",
     .at = {Phase::kMesh, 381},
     .source = "Megatron-LM:megatron/core/num_microbatches_calculator.py:381",
     .reads = {K::global_batch_size, K::micro_batch_size, K::data_parallel_size},
     // Where validation defaults to the training batch, batch.eval-gbs-divisible has said it.
     .when =
         [](F f) {
           return TrainingBatchIndivisible(f) && f.none(K::rampup_batch_size) &&
                  !f.on(K::decrease_batch_size_if_needed) && !(f.bridge(5) && EvalBatchIndivisible(f));
         },
     .needs = "the global batch must be a multiple of the micro batch times the data parallel size",
     .fix = EvenTrainingBatch,
     .detail = [](F f) { return absl::StrCat(f.num(K::global_batch_size), " is no multiple of ", TrainingStep(f)); }},
};

}  // namespace

RuleList BridgeBatchRules() { return kRules; }

}  // namespace flightplan
