// Batch sizes and the microbatch count.
#include "resolver/derive/batch.h"

#include <algorithm>

#include "resolver/base/integers.h"
#include "resolver/rules/megatron_lm/cli_util.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

// Replicas that share a global batch: with weight shards over the GTP axis, each of its ranks sees its own data.
std::optional<int64_t> Replicas(F f) {
  if (!f.env().data_parallel_size.has_value()) return std::nullopt;
  return Product({*f.env().data_parallel_size, f.core(19) ? Gtp(f) : 1});
}
// validate_args of 0.19 forgot the shards, its microbatch calculator did not.
std::optional<int64_t> EvalReplicas(F f) { return f.core(kMain) ? Replicas(f) : f.env().data_parallel_size; }

bool Indivisible(F f, K batch, K micro, std::optional<int64_t> replicas) {
  if (f.none(batch) || f.none(micro) || !replicas.has_value()) return false;
  if (*replicas <= 0 || f.num(micro) <= 0) return false;  // mlm.world-divisible and mlm.mbs-positive say so
  const std::optional<int64_t> unit = Product({f.num(micro), *replicas});
  return !unit.has_value() || !Divisible(f.num(batch), *unit);
}

// Upstream divides by it, where mlm.mbs-positive has not stopped it before.
bool NoEvalMicroBatch(F f) {
  return f.set(K::eval_micro_batch_size) && f.num(K::eval_micro_batch_size) == 0 && f.num(K::micro_batch_size) > 0;
}

// Microbatches that the interleaved schedule takes at once; the stages of a layout are not counted yet.
int64_t MicrobatchGroup(F f) {
  constexpr K kVirtual[] = {K::virtual_pipeline_model_parallel_size, K::num_virtual_stages_per_pipeline_rank,
                            K::num_layers_per_virtual_pipeline_stage, K::pipeline_model_parallel_layout};
  const int64_t pp = f.num(K::pipeline_model_parallel_size);
  const bool interleaved =
      pp > 1 && std::any_of(std::begin(kVirtual), std::end(kVirtual), [&](K k) { return f.set(k); });
  if (!interleaved) return 1;
  return f.num(K::microbatch_group_size_per_vp_stage) > 0 ? f.num(K::microbatch_group_size_per_vp_stage) : pp;
}

// The largest smaller microbatch with which every replica gets whole groups of them; 0: there is none.
int64_t SmallerMicroBatch(F f, int64_t group) {
  constexpr int64_t kMostTried = 4096;
  const int64_t batch = f.num(K::global_batch_size), now = f.num(K::micro_batch_size);
  if (batch <= 0) return 0;  // nothing divides into no samples
  const int64_t least = now > kMostTried ? now - 1 : 1;
  for (int64_t micro = now - 1; micro >= least; --micro) {
    const std::optional<int64_t> unit = Product({micro, Replicas(f).value_or(1), group});
    if (unit.has_value() && Divisible(batch, *unit)) return micro;
  }
  return 0;
}

// Another microbatch, or the global batch rounded up, to whole microbatches of each replica.
std::vector<Patch> RoundedBatch(F f) {
  const int64_t group = MicrobatchGroup(f);
  const std::optional<int64_t> unit = Product({f.num(K::micro_batch_size), Replicas(f).value_or(1), group});
  if (!unit.has_value() || *unit <= 0) return {};
  std::vector<Patch> fixes;
  int64_t micro = SmallerMicroBatch(f, group);
  if (micro == 0 && group > 1) micro = SmallerMicroBatch(f, 1);
  if (micro > 0) {
    fixes.push_back({Assign(K::micro_batch_size, micro), Assign(K::eval_micro_batch_size, Value()),
                     Assign(K::eval_global_batch_size, Value())});
  }
  if (const std::optional<int64_t> up = NextMultiple(f.num(K::global_batch_size), *unit)) {
    fixes.push_back({Assign(K::global_batch_size, *up), Assign(K::eval_global_batch_size, Value()),
                     Assign(K::eval_micro_batch_size, Value())});
  }
  return fixes;
}

// One sample at a time, and a global batch that the replicas share evenly.
std::vector<Patch> OneSample(F f) {
  Patch patch = {Assign(K::micro_batch_size, 1)};
  const int64_t replicas = std::max<int64_t>(1, Replicas(f).value_or(1));
  const int64_t batch = f.num(K::global_batch_size);
  const std::optional<int64_t> up = NextMultiple(batch, replicas);
  if (f.set(K::global_batch_size) && batch > 0 && !Divisible(batch, replicas) && up.has_value()) {
    patch.push_back(Assign(K::global_batch_size, *up));
  }
  return {patch};
}

std::optional<int64_t> Microbatches(F f) { return StepMicrobatches(f.config(), f.env()); }

bool Ramps(F f) { return f.value(K::rampup_batch_size).list().size() == 3; }
int64_t Ramp(F f, size_t i) { return Ramps(f) ? f.value(K::rampup_batch_size).list()[i].integer() : 0; }
std::optional<int64_t> FirstBatch(F f) {
  return FirstScheduledBatch(f.text(K::step_batch_size_schedule), f.num(K::seq_length));
}
bool IsConstant(F f) { return f.core(18) ? f.none(K::step_batch_size_schedule) : f.none(K::rampup_batch_size); }

const Rule kRules[] = {
    {.id = "mlm.mbs-required",
     .area = "batch",
     .at = {Phase::kCliValidate, 693},
     .source = "Megatron-LM:megatron/training/arguments.py:693",
     .reads = {K::micro_batch_size},
     .when = [](F f) { return f.none(K::micro_batch_size); },
     .needs = "micro_batch_size must be given",
     .fixes = {{{K::micro_batch_size, 1}}}},
    {.id = "mlm.mbs-positive",
     .area = "batch",
     .at = {Phase::kCliValidate, 694},
     .source = "Megatron-LM:megatron/training/arguments.py:694",
     .reads = {K::micro_batch_size},
     .when = [](F f) { return f.set(K::micro_batch_size) && f.num(K::micro_batch_size) <= 0; },
     .needs = "micro_batch_size must be at least 1",
     .fix = OneSample},
    {.id = "mlm.schedule-and-gbs",
     .area = "batch",
     .at = {Phase::kCliValidate, 699},
     .source = "Megatron-LM:megatron/training/arguments.py:699",
     .core = {18, kMain},
     .reads = {K::step_batch_size_schedule, K::global_batch_size},
     .when = [](F f) { return f.set(K::step_batch_size_schedule) && f.set(K::global_batch_size); },
     .needs = "step_batch_size_schedule takes the place of global_batch_size: give one",
     .fixes = {{{K::step_batch_size_schedule, kUnset}}}},
    {.id = "mlm.gbs-default",
     .area = "batch",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 702},
     .source = "Megatron-LM:megatron/training/arguments.py:702",
     .reads = {K::global_batch_size, K::micro_batch_size},
     .change =
         [](Editor& e) {
           const Facts& f = e.facts();
           if (f.set(K::global_batch_size) || f.none(K::micro_batch_size) || !f.env().data_parallel_size.has_value())
             return;
           const std::optional<int64_t> batch = Product({f.num(K::micro_batch_size), *f.env().data_parallel_size});
           if (batch.has_value()) e.Set(K::global_batch_size, *batch);
         }},
    {.id = "mlm.gbs-positive",
     .area = "batch",
     .at = {Phase::kCliValidate, 705},
     .source = "Megatron-LM:megatron/training/arguments.py:705",
     .reads = {K::global_batch_size},
     .when = [](F f) { return f.set(K::global_batch_size) && f.num(K::global_batch_size) <= 0; },
     .needs = "global_batch_size must be at least 1",
     .fix = [](F f) -> std::vector<Patch> {
       std::vector<Patch> fixes = RoundedBatch(f);
       // Without a replica there is nothing to round to.
       if (fixes.empty())
         fixes.push_back({Assign(K::global_batch_size, std::max<int64_t>(1, f.num(K::micro_batch_size)))});
       return fixes;
     }},
    {.id = "mlm.eval-batch-default",
     .area = "batch",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 708},
     .source = "Megatron-LM:megatron/training/arguments.py:708",
     .core = {18, kMain},
     .reads = {K::eval_global_batch_size, K::eval_micro_batch_size},
     .change =
         [](Editor& e) {
           const Facts& f = e.facts();
           if (f.none(K::eval_global_batch_size)) e.Set(K::eval_global_batch_size, f.value(K::global_batch_size));
           if (f.none(K::eval_micro_batch_size)) e.Set(K::eval_micro_batch_size, f.value(K::micro_batch_size));
         }},
    {.id = "mlm.gbs-divisible",
     .area = "batch",
     .at = {Phase::kCliValidate, 715},
     .source = "Megatron-LM:megatron/training/arguments.py:715",
     .core = {18, kMain},
     .reads = {K::eval_global_batch_size, K::eval_micro_batch_size, K::global_batch_size, K::micro_batch_size},
     .reads_env = {"data_parallel_size"},
     .when =
         [](F f) {
           return NoEvalMicroBatch(f) ||
                  Indivisible(f, K::eval_global_batch_size, K::eval_micro_batch_size, EvalReplicas(f));
         },
     .needs = "the (evaluation) global batch must be a multiple of the micro batch times the data parallel size",
     .fix = [](F f) -> std::vector<Patch> {
       if (NoEvalMicroBatch(f)) return {Patch{{K::eval_micro_batch_size, "", Value(f.num(K::micro_batch_size))}}};
       return RoundedBatch(f);
     }},
    {.id = "mlm.rampup-iters",
     .area = "batch",
     .at = {Phase::kCliValidate, 1288},
     .source = "Megatron-LM:megatron/training/arguments.py:1288",
     .core = {0, 17},
     .reads = {K::train_iters, K::rampup_batch_size},
     .when =
         [](F f) {
           return f.on(K::train_iters) && f.set(K::rampup_batch_size) && (!f.core(17) || !f.on(K::skip_train));
         },
     .needs = "a batch ramp-up counts samples: use train_samples",
     .fixes = {{{K::rampup_batch_size, kUnset}}}},
    {.id = "mlm.rampup-phase",
     .area = "batch",
     .at = {Phase::kCliValidate, 1303},
     .source = "Megatron-LM:megatron/training/arguments.py:1303",
     .core = {0, 17},
     .reads = {K::phase_transition_iterations, K::rampup_batch_size},
     .when = [](F f) { return f.on(K::phase_transition_iterations) && f.set(K::rampup_batch_size); },
     .needs = "phase transitions exclude a batch ramp-up",
     .fixes = {{{K::rampup_batch_size, kUnset}}}},
    {.id = "mlm.rampup-start-positive",
     .area = "batch",
     .at = {Phase::kCliValidate, 200100},
     .source = "Megatron-LM:megatron/core/num_microbatches_calculator.py:381",
     .core = {0, 17},
     .reads = {K::rampup_batch_size, K::global_batch_size},
     .when = [](F f) { return Ramps(f) && Ramp(f, 0) <= 0; },
     .needs = "the ramp must start above 0",
     .fixes = {{{K::rampup_batch_size, kUnset}}}},
    {.id = "mlm.rampup-increment-positive",
     .area = "batch",
     .at = {Phase::kCliValidate, 200101},
     .source = "Megatron-LM:megatron/core/num_microbatches_calculator.py:381",
     .core = {0, 17},
     .reads = {K::rampup_batch_size, K::global_batch_size},
     .when = [](F f) { return Ramps(f) && Ramp(f, 1) <= 0; },
     .needs = "the ramp increment must be above 0",
     .fixes = {{{K::rampup_batch_size, kUnset}}}},
    {.id = "mlm.rampup-samples-negative",
     .area = "batch",
     .at = {Phase::kCliValidate, 200102},
     .source = "Megatron-LM:megatron/core/num_microbatches_calculator.py:381",
     .core = {0, 17},
     .reads = {K::rampup_batch_size, K::global_batch_size},
     .when = [](F f) { return Ramps(f) && Ramp(f, 2) < 0; },
     .needs = "the ramp samples must not be negative",
     .fixes = {{{K::rampup_batch_size, kUnset}}}},
    {.id = "mlm.rampup-start-above-gbs",
     .area = "batch",
     .at = {Phase::kCliValidate, 200103},
     .source = "Megatron-LM:megatron/core/num_microbatches_calculator.py:381",
     .core = {0, 17},
     .reads = {K::rampup_batch_size, K::global_batch_size},
     .when = [](F f) { return Ramps(f) && Ramp(f, 0) > f.num(K::global_batch_size); },
     .needs = "the ramp must start at or below global_batch_size",
     .fixes = {{{K::rampup_batch_size, kUnset}}}},
    {.id = "mlm.rampup-increment-divides",
     .area = "batch",
     .at = {Phase::kCliValidate, 200104},
     .source = "Megatron-LM:megatron/core/num_microbatches_calculator.py:381",
     .core = {0, 17},
     .reads = {K::rampup_batch_size, K::global_batch_size},
     .when =
         [](F f) {
           return Ramps(f) && Ramp(f, 1) > 0 && Ramp(f, 0) <= f.num(K::global_batch_size) &&
                  FloorMod(f.num(K::global_batch_size), Ramp(f, 1)) != FloorMod(Ramp(f, 0), Ramp(f, 1));
         },
     .needs = "the ramp increment must divide the rise to global_batch_size",
     .fixes = {{{K::rampup_batch_size, kUnset}}}},
    {.id = "mlm.rampup-start-divisible",
     .area = "batch",
     .kind = Kind::kWarning,
     .at = {Phase::kAdvice, 1},
     .source = "Megatron-LM:megatron/core/num_microbatches_calculator.py:455",
     .core = {0, 17},
     .reads = {K::rampup_batch_size, K::micro_batch_size},
     .reads_env = {"data_parallel_size"},
     .when =
         [](F f) {
           return Ramps(f) && !f.on(K::decrease_batch_size_if_needed) && Replicas(f).has_value() &&
                  !Divisible(Ramp(f, 0), Product({f.num(K::micro_batch_size), *Replicas(f)}).value_or(0));
         },
     .needs = "the ramp must start at a multiple of the micro batch times the data parallel size",
     .fixes = {{{K::rampup_batch_size, kUnset}}}},
    {.id = "mlm.schedule-no-decrease",
     .area = "batch",
     .at = {Phase::kCliValidate, 200266},
     .source = "Megatron-LM:megatron/core/num_microbatches_calculator.py:266",
     .core = {18, kMain},
     .reads = {K::step_batch_size_schedule, K::decrease_batch_size_if_needed},
     .when = [](F f) { return f.set(K::step_batch_size_schedule) && f.on(K::decrease_batch_size_if_needed); },
     .needs = "a schedule of batch sizes excludes decrease_batch_size_if_needed",
     .fixes = {{{K::decrease_batch_size_if_needed, false}}}},
    {.id = "mlm.schedule-reads",
     .area = "batch",
     .at = {Phase::kCliValidate, 200539},
     .source = "Megatron-LM:megatron/core/num_microbatches_calculator.py:539",
     .core = {18, kMain},
     .reads = {K::step_batch_size_schedule, K::seq_length},
     .when = [](F f) { return f.set(K::step_batch_size_schedule) && !FirstBatch(f).has_value(); },
     .needs =
         "a schedule is THRESHOLD:BATCH_SIZE pairs: the first threshold is 0, the others rise, in samples too, and "
         "batch sizes are above 0",
     .fixes = {{{K::step_batch_size_schedule, kUnset}}}},
    {.id = "build.schedule-divisible",
     .area = "batch",
     .at = {Phase::kBuild, 13581},
     .source = "Megatron-LM:megatron/core/num_microbatches_calculator.py:581",
     .core = {18, kMain},
     .reads = {K::step_batch_size_schedule, K::micro_batch_size, K::load},
     .reads_env = {"data_parallel_size"},
     .when =
         [](F f) {
           // A run that goes on may be behind the sizes that it started with.
           const std::optional<int64_t> first = FirstBatch(f);
           const std::optional<int64_t> unit = Product({f.num(K::micro_batch_size), Replicas(f).value_or(0)});
           return f.none(K::load) && !f.on(K::skip_train) && first.has_value() && unit.has_value() && *unit > 0 &&
                  !Divisible(*first, *unit);
         },
     .needs =
         "the batch size that a schedule starts with is a multiple of the micro batch times the data parallel size",
     .fixes = {{{K::step_batch_size_schedule, kUnset}}},
     .fix =
         [](F f) {
           std::vector<Patch> patches;
           const int64_t first = FirstBatch(f).value_or(0), replicas = Replicas(f).value_or(1);
           int64_t micro = LargestDivisorUpTo(f.num(K::micro_batch_size), f.num(K::micro_batch_size) - 1);
           while (micro > 1 && !Divisible(first, micro * replicas)) {
             micro = LargestDivisorUpTo(f.num(K::micro_batch_size), micro - 1);
           }
           if (Divisible(first, micro * replicas)) {
             patches.push_back({Assign(K::micro_batch_size, micro), Assign(K::eval_micro_batch_size, Value())});
           }
           return patches;
         }},
    {.id = "build.schedule-forecast",
     .area = "batch",
     .kind = Kind::kInfo,
     .at = {Phase::kBuild, 13582},
     .source = "Megatron-LM:megatron/core/num_microbatches_calculator.py:581",
     .core = {18, kMain},
     .reads = {K::step_batch_size_schedule, K::seq_length},
     .when = [](F f) { return f.set(K::step_batch_size_schedule) && FirstBatch(f).has_value(); },
     .needs = "the layout and the forecast have the batch size that a schedule ends with, as most of its run has",
     .detail = [](F f) { return absl::StrCat(StepBatch(f.config(), PartOfRun::kMost).value_or(0), " samples"); }},
    {.id = "mlm.num-microbatches-divisible",
     .area = "batch",
     .at = {Phase::kCliValidate, 200381},
     .source = "Megatron-LM:megatron/core/num_microbatches_calculator.py:381",
     .reads = {K::global_batch_size, K::micro_batch_size},
     .reads_env = {"data_parallel_size"},
     .when =
         [](F f) {
           return IsConstant(f) && !f.on(K::decrease_batch_size_if_needed) &&
                  Indivisible(f, K::global_batch_size, K::micro_batch_size, Replicas(f));
         },
     .needs = "the global batch must be a multiple of the micro batch times the data parallel size",
     .fix = [](F f) -> std::vector<Patch> { return RoundedBatch(f); }},
    {.id = "mlm.num-microbatches-min",
     .area = "batch",
     .at = {Phase::kCliValidate, 200389},
     .source = "Megatron-LM:megatron/core/num_microbatches_calculator.py:389",
     .reads = {K::global_batch_size, K::micro_batch_size},
     .reads_env = {"data_parallel_size"},
     .when =
         [](F f) {
           const std::optional<int64_t> count = Microbatches(f);
           const bool divisible = f.on(K::decrease_batch_size_if_needed) ||
                                  !Indivisible(f, K::global_batch_size, K::micro_batch_size, Replicas(f));
           return IsConstant(f) && divisible && count.has_value() && *count < 1;
         },
     .needs = "a step needs at least one microbatch",
     .fix = [](F f) -> std::vector<Patch> { return RoundedBatch(f); }},
    {.id = "mlm.rampup-ignored",
     .area = "batch",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 200400},
     .source = "Megatron-LM:megatron/core/num_microbatches_calculator.py:214",
     .core = {18, kMain},
     .reads = {K::rampup_batch_size},
     .change =
         [](Editor& e) {
           if (e.facts().core(18)) e.Set(K::rampup_batch_size, Value());
         }},
};

}  // namespace

RuleList MegatronLmBatchRules() { return kRules; }

}  // namespace flightplan
