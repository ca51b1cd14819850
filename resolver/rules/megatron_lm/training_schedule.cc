// Training length, learning rate and weight decay.
#include "resolver/base/integers.h"
#include "resolver/rules/core/facts_util.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

bool Trains(F f) { return !f.core(17) || !f.on(K::skip_train); }
bool ByIterations(F f) { return f.on(K::train_iters) && Trains(f); }
bool BySamples(F f) { return f.on(K::train_samples) && Trains(f); }
bool ConstantDecay(F f) { return f.is(K::weight_decay_incr_style, "constant"); }

// Megatron-LM's own; others log and load data in ways of theirs.
bool OwnProgram(F f) { return RunsMegatronLm(f.stack()); }

// Both are asserted when the scheduler is built. With another style the decay's own ends are checked before.
bool BelowZero(F f) { return f.real(K::min_lr) < 0 || (ConstantDecay(f) && f.real(K::weight_decay) < 0); }

// Megatron-Bridge cuts the warm-up short instead; the fork's rule is lff.lr-warmup-below-decay.
bool WarmsUpTooLong(F f) {
  if (!OwnProgram(f) || (!ByIterations(f) && !BySamples(f))) return false;
  if (f.set(K::lr_warmup_fraction)) return f.real(K::lr_warmup_fraction) >= 1;
  const bool iterations = ByIterations(f);
  const K decay = iterations ? K::lr_decay_iters : K::lr_decay_samples;
  const K length = iterations ? K::train_iters : K::train_samples;
  return f.num(iterations ? K::lr_warmup_iters : K::lr_warmup_samples) >= f.num(f.set(decay) ? decay : length);
}

const Rule kRules[] = {
    {.id = "mlm.iters-xor-samples",
     .area = "schedule",
     .at = {Phase::kCliValidate, 1279},
     .source = "Megatron-LM:megatron/training/arguments.py:1279",
     .reads = {K::train_iters, K::train_samples},
     .when = [](F f) { return ByIterations(f) && f.set(K::train_samples); },
     .needs = "training length is given in iterations or in samples",
     .fixes = {{{K::train_samples, kUnset}}, {{K::train_iters, kUnset}}}},
    {.id = "mlm.iters-no-decay-samples",
     .area = "schedule",
     .at = {Phase::kCliValidate, 1281},
     .source = "Megatron-LM:megatron/training/arguments.py:1281",
     .reads = {K::train_iters, K::lr_decay_samples},
     .when = [](F f) { return ByIterations(f) && f.set(K::lr_decay_samples); },
     .needs = "with train_iters the decay is given in iterations",
     .fixes = {{{K::lr_decay_samples, kUnset}}}},
    {.id = "mlm.iters-no-warmup-samples",
     .area = "schedule",
     .at = {Phase::kCliValidate, 1283},
     .source = "Megatron-LM:megatron/training/arguments.py:1283",
     .reads = {K::train_iters, K::lr_warmup_samples},
     .when = [](F f) { return ByIterations(f) && f.num(K::lr_warmup_samples) != 0; },
     .needs = "with train_iters the warm-up is given in iterations",
     .fixes = {{{K::lr_warmup_samples, 0}}}},
    {.id = "mlm.warmup-fraction-xor-iters",
     .area = "schedule",
     .at = {Phase::kCliValidate, 1286},
     .source = "Megatron-LM:megatron/training/arguments.py:1286",
     .reads = {K::lr_warmup_fraction, K::lr_warmup_iters},
     .when = [](F f) { return ByIterations(f) && f.set(K::lr_warmup_fraction) && f.num(K::lr_warmup_iters) != 0; },
     .needs = "the warm-up is a fraction or a number of iterations",
     .fixes = {{{K::lr_warmup_iters, 0}}, {{K::lr_warmup_fraction, kUnset}}}},
    {.id = "mlm.samples-xor-iters",
     .area = "schedule",
     .at = {Phase::kCliValidate, 1293},
     .source = "Megatron-LM:megatron/training/arguments.py:1293",
     .reads = {K::train_samples, K::train_iters},
     .when = [](F f) { return BySamples(f) && f.set(K::train_iters); },
     .needs = "training length is given in samples or in iterations",
     .fixes = {{{K::train_iters, kUnset}}, {{K::train_samples, kUnset}}}},
    {.id = "mlm.samples-no-decay-iters",
     .area = "schedule",
     .at = {Phase::kCliValidate, 1295},
     .source = "Megatron-LM:megatron/training/arguments.py:1295",
     .reads = {K::train_samples, K::lr_decay_iters},
     .when = [](F f) { return BySamples(f) && f.set(K::lr_decay_iters); },
     .needs = "with train_samples the decay is given in samples",
     .fixes = {{{K::lr_decay_iters, kUnset}}}},
    {.id = "mlm.samples-no-warmup-iters",
     .area = "schedule",
     .at = {Phase::kCliValidate, 1297},
     .source = "Megatron-LM:megatron/training/arguments.py:1297",
     .reads = {K::train_samples, K::lr_warmup_iters},
     .when = [](F f) { return BySamples(f) && f.num(K::lr_warmup_iters) != 0; },
     .needs = "with train_samples the warm-up is given in samples",
     .fixes = {{{K::lr_warmup_iters, 0}}}},
    {.id = "mlm.warmup-fraction-xor-samples",
     .area = "schedule",
     .at = {Phase::kCliValidate, 1300},
     .source = "Megatron-LM:megatron/training/arguments.py:1300",
     .reads = {K::lr_warmup_fraction, K::lr_warmup_samples},
     .when = [](F f) { return BySamples(f) && f.set(K::lr_warmup_fraction) && f.num(K::lr_warmup_samples) != 0; },
     .needs = "the warm-up is a fraction or a number of samples",
     .fixes = {{{K::lr_warmup_samples, 0}}, {{K::lr_warmup_fraction, kUnset}}}},
    {.id = "mlm.min-lr",
     .area = "schedule",
     .at = {Phase::kCliValidate, 1360},
     .source = "Megatron-LM:megatron/training/arguments.py:1360",
     .reads = {K::min_lr, K::lr},
     .when = [](F f) { return f.set(K::lr) && !(f.real(K::min_lr) <= f.real(K::lr)); },
     .needs = "min_lr must not exceed lr",
     .fix = [](F f) -> std::vector<Patch> { return {{Assign(K::min_lr, f.value(K::lr))}}; }},
    {.id = "mlm.log-memory-interval",
     .area = "logging",
     .at = {Phase::kCliValidate, 1370},
     .source = "Megatron-LM:megatron/training/arguments.py:1370",
     .reads = {K::log_memory_interval, K::log_interval},
     .when =
         [](F f) {
           return f.set(K::log_memory_interval) && (!Divisible(f.num(K::log_memory_interval), f.num(K::log_interval)));
         },
     .needs = "log_memory_interval must be a multiple of log_interval",
     .fixes = {{{K::log_memory_interval, kUnset}}}},
    {.id = "mlm.wd-cond-type",
     .area = "misc",
     .at = {Phase::kCliValidate, 1390},
     .source = "Megatron-LM:megatron/training/arguments.py:1390",
     .reads = {K::no_weight_decay_cond_type},
     .when =
         [](F f) {
           return f.set(K::no_weight_decay_cond_type) &&
                  !f.is(K::no_weight_decay_cond_type, "apply_wd_to_qk_layernorm");
         },
     .needs = "the only condition type is apply_wd_to_qk_layernorm",
     .fixes = {{{K::no_weight_decay_cond_type, kUnset}}}},
    {.id = "mlm.wd-cond-alias",
     .area = "optimizer",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 1388},
     .source = "Megatron-LM:megatron/training/arguments.py:1388",
     .reads = {K::no_weight_decay_cond_type, K::apply_wd_to_qk_layernorm},
     .change =
         [](Editor& e) {
           if (!e.facts().is(K::no_weight_decay_cond_type, "apply_wd_to_qk_layernorm")) return;
           e.Set(K::apply_wd_to_qk_layernorm, true);
           e.Set(K::no_weight_decay_cond_type, Value());
         }},
    {.id = "mlm.wd-constant-start",
     .area = "optimizer",
     .at = {Phase::kCliValidate, 1394},
     .source = "Megatron-LM:megatron/training/arguments.py:1394",
     .reads = {K::weight_decay_incr_style, K::start_weight_decay},
     .when = [](F f) { return ConstantDecay(f) && f.set(K::start_weight_decay); },
     .needs = "constant weight decay takes no start_weight_decay",
     .fixes = {{{K::start_weight_decay, kUnset}}}},
    {.id = "mlm.wd-constant-end",
     .area = "misc",
     .at = {Phase::kCliValidate, 1395},
     .source = "Megatron-LM:megatron/training/arguments.py:1395",
     .reads = {K::weight_decay_incr_style, K::end_weight_decay},
     .when = [](F f) { return ConstantDecay(f) && f.set(K::end_weight_decay); },
     .needs = "constant weight decay takes no end_weight_decay",
     .fixes = {{{K::end_weight_decay, kUnset}}}},
    {.id = "mlm.wd-constant-copied",
     .area = "optimizer",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 1396},
     .source = "Megatron-LM:megatron/training/arguments.py:1396",
     .reads = {K::weight_decay, K::start_weight_decay, K::end_weight_decay},
     .change =
         [](Editor& e) {
           if (!ConstantDecay(e.facts())) return;
           e.Set(K::start_weight_decay, e.facts().value(K::weight_decay));
           e.Set(K::end_weight_decay, e.facts().value(K::weight_decay));
         }},
    {.id = "mlm.wd-start-required",
     .area = "misc",
     .at = {Phase::kCliValidate, 1399},
     .source = "Megatron-LM:megatron/training/arguments.py:1399",
     .reads = {K::weight_decay_incr_style, K::start_weight_decay},
     .when = [](F f) { return !ConstantDecay(f) && f.none(K::start_weight_decay); },
     .needs = "a rising weight decay needs start_weight_decay",
     .fix = [](F f) -> std::vector<Patch> { return {{Assign(K::start_weight_decay, f.value(K::weight_decay))}}; }},
    {.id = "mlm.wd-end-required",
     .area = "misc",
     .at = {Phase::kCliValidate, 1400},
     .source = "Megatron-LM:megatron/training/arguments.py:1400",
     .reads = {K::weight_decay_incr_style, K::end_weight_decay},
     .when = [](F f) { return !ConstantDecay(f) && f.none(K::end_weight_decay); },
     .needs = "a rising weight decay needs end_weight_decay",
     .fix = [](F f) -> std::vector<Patch> { return {{Assign(K::end_weight_decay, f.value(K::weight_decay))}}; }},
    {.id = "mlm.lr-warmup-below-decay",
     .area = "schedule",
     .at = {Phase::kBuild, 40160},
     .source = "Megatron-LM:megatron/core/optimizer_param_scheduler.py:160",
     .reads = {K::lr_warmup_iters, K::lr_warmup_samples, K::lr_warmup_fraction, K::lr_decay_iters, K::lr_decay_samples,
               K::train_iters, K::train_samples},
     .when = WarmsUpTooLong,
     .needs = "the learning rate's warm-up must end before its decay does",
     .fixes = {{{K::lr_warmup_iters, 0}, {K::lr_warmup_samples, 0}, {K::lr_warmup_fraction, kUnset}}}},
    {.id = "mlm.lr-wsd-needs-decay",
     .area = "schedule",
     .at = {Phase::kBuild, 40164},
     .source = "Megatron-LM:megatron/core/optimizer_param_scheduler.py:164",
     .reads = {K::lr_decay_style, K::lr_wsd_decay_iters, K::lr_wsd_decay_samples},
     .when =
         [](F f) {
           if (!OwnProgram(f) || !f.is(K::lr_decay_style, "WSD") || (!ByIterations(f) && !BySamples(f))) return false;
           return f.none(ByIterations(f) ? K::lr_wsd_decay_iters : K::lr_wsd_decay_samples);
         },
     .needs = "the warm-up, stable, decay schedule needs the length of its decay: --lr-wsd-decay-iters, or "
              "--lr-wsd-decay-samples where the training's length is in samples"},
    {.id = "mlm.log-interval-positive",
     .area = "schedule",
     .at = {Phase::kBuild, 43539},
     .source = "Megatron-LM:megatron/training/training.py:3539",
     .reads = {K::log_interval},
     .when = [](F f) { return OwnProgram(f) && f.set(K::log_interval) && f.num(K::log_interval) == 0; },
     .needs = "the first step divides by log_interval: at least 1",
     .fixes = {{{K::log_interval, 100}}}},
    {.id = "mlm.eval-interval-positive",
     .area = "schedule",
     .at = {Phase::kBuild, 45436},
     .source = "Megatron-LM:megatron/training/training.py:5436",
     .reads = {K::eval_interval, K::full_validation, K::skip_train},
     .when =
         [](F f) {
           return OwnProgram(f) && f.set(K::eval_interval) && f.num(K::eval_interval) == 0 &&
                  !f.on(K::full_validation) && ByIterations(f);
         },
     .needs = "the length of the data is worked out by dividing by eval_interval: at least 1; --eval-iters 0 leaves "
              "evaluation out",
     .fixes = {{{K::eval_interval, 1000}}}},
    {.id = "mlm.wandb-named",
     .area = "misc",
     .at = {Phase::kMesh, 40260},
     .source = "Megatron-LM:megatron/training/global_vars.py:260",
     .reads = {K::wandb_project, K::wandb_exp_name},
     .when =
         [](F f) { return OwnProgram(f) && !f.text(K::wandb_project).empty() && f.text(K::wandb_exp_name).empty(); },
     .needs = "a run that is logged to Weights & Biases needs a name: --wandb-exp-name",
     .fixes = {{{K::wandb_project, kUnset}}}},
    {.id = "mlm.validation-sets-full",
     .area = "data",
     .at = {Phase::kBuild, 45533},
     .source = "Megatron-LM:megatron/training/training.py:5533",
     .core = {16, kMain},
     .reads = {K::multiple_validation_sets, K::full_validation, K::skip_train},
     .when =
         [](F f) {
           return OwnProgram(f) && f.on(K::multiple_validation_sets) && !f.on(K::full_validation) && Trains(f);
         },
     .needs = "several validation sets are run to their end: they need full_validation",
     .fixes = {{{K::full_validation, true}}, {{K::multiple_validation_sets, false}}}},
    {.id = "mlm.validation-set-names",
     .area = "data",
     .at = {Phase::kBuild, 45344},
     .source = "Megatron-LM:megatron/training/training.py:5344",
     .core = {.since = 18},
     .reads = {K::validation_set_names, K::multiple_validation_sets},
     .when = [](F f) { return OwnProgram(f) && f.on(K::validation_set_names) && !f.on(K::multiple_validation_sets); },
     .needs = "validation sets have names where there are several: --multiple-validation-sets; the first evaluation "
              "stops the run",
     .fixes = {{{K::multiple_validation_sets, true}, {K::full_validation, true}}, {{K::validation_set_names, kUnset}}}},
    {.id = "mlm.gc-interval",
     .area = "schedule",
     .at = {Phase::kBuild, 44405},
     .source = "Megatron-LM:megatron/training/training.py:4405",
     .reads = {K::manual_gc, K::manual_gc_interval},
     .when = [](F f) { return OwnProgram(f) && f.on(K::manual_gc) && f.num(K::manual_gc_interval) < 0; },
     .needs = "steps between two collections of garbage: 0 for never, or more",
     .fixes = {{{K::manual_gc_interval, 100}}}},
    {.id = "mlm.scheduler-values",
     .area = "schedule",
     .at = {Phase::kBuild, 40152},
     .source = "Megatron-LM:megatron/core/optimizer_param_scheduler.py:152",
     .reads = {K::lr, K::min_lr, K::lr_warmup_init, K::weight_decay, K::weight_decay_incr_style},
     .when = [](F f) { return OwnProgram(f) && f.set(K::lr) && (BelowZero(f) || StartsTooHigh(f)); },
     .needs = "the learning rate starts no higher than lr (lr_warmup_init) and falls no lower than 0 (min_lr); weights "
              "decay by 0 or more",
     .fix =
         [](F f) {
           Patch patch;
           if (f.real(K::min_lr) < 0) patch.push_back(Assign(K::min_lr, Value(0.0)));
           if (StartsTooHigh(f)) patch.push_back(Assign(K::lr_warmup_init, Value(0.0)));
           if (ConstantDecay(f) && f.real(K::weight_decay) < 0) patch.push_back(Assign(K::weight_decay, Value(0.0)));
           return std::vector<Patch>{patch};
         }},
};

}  // namespace

RuleList MegatronLmTrainingScheduleRules() { return kRules; }

}  // namespace flightplan
