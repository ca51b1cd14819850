// The length of a training, the schedule of its learning rate and its checkpoints: what TrainingConfig, SchedulerConfig
// and CheckpointConfig refuse when ConfigContainer.validate finalizes them, and what validate holds against one
// another. Lines are those of NVIDIA-NeMo/Megatron-Bridge@067f987df src/megatron/bridge/training/config.py; what a
// finalize checks stands at the line of its call, with its own line as the order within.
#include <vector>

#include "resolver/catalog/bridge_fields.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

constexpr int kTrain = 1404;
constexpr int kScheduler = 1405;
constexpr int kCheckpoint = 1406;

constexpr Place At(int line, int sub = 0) { return {Phase::kContainer, line, sub}; }

bool Warms(F f, K knob) { return f.set(knob) && f.num(knob) != 0; }
bool BySamples(F f) { return f.set(K::train_samples); }
bool SaysIterations(F f) { return f.set(K::lr_decay_iters) || Warms(f, K::lr_warmup_iters); }
bool SaysSamples(F f) { return f.set(K::lr_decay_samples) || Warms(f, K::lr_warmup_samples); }
bool Checkpoints(F f) { return f.set(K::save) || f.set(K::load); }
bool SavesSharded(F f) { return f.in(K::ckpt_format, {"torch_dist", "fsdp_dtensor"}); }

// Every recipe has folders to save to and load from.
bool TakenAway(F f, K folder) { return f.given(folder) && f.none(folder); }

bool ByEpochs(F f) { return f.set(K::num_epochs); }
// In the scheduler's own fields, where the length of a decay counts too.
bool SchedulesIterations(F f) { return SaysIterations(f) || f.set(K::lr_wsd_decay_iters); }
bool SchedulesSamples(F f) { return SaysSamples(f) || f.set(K::lr_wsd_decay_samples); }

// How long the learning rate falls, in iterations; 0: not known, or counted in samples.
double DecayIterations(F f) {
  if (BySamples(f)) return 0;
  for (const K length : {K::scheduler_max_steps, K::lr_decay_iters, K::train_iters}) {
    if (f.set(length)) return f.real(length);
  }
  return 0;
}
double WarmupIterations(F f) {
  return f.set(K::lr_warmup_fraction) ? f.real(K::lr_warmup_fraction) * DecayIterations(f) : f.real(K::lr_warmup_iters);
}

// What the learning rate falls over, in the training's own unit: its own length, else the training's. A number of
// steps for all (scheduler.max_steps) has a rule of its own, and so have the samples of a training.
K DecayKnob(F f) { return BySamples(f) ? K::lr_decay_samples : K::lr_decay_iters; }
bool NeverFalls(F f) {
  if (f.set(K::scheduler_max_steps)) return false;
  if (f.set(DecayKnob(f))) return f.num(DecayKnob(f)) <= 0;
  return !BySamples(f) && f.set(K::train_iters) && f.num(K::train_iters) <= 0;
}
// Validation that follows the batch of training says so first.
bool FollowedByValidation(F f) { return f.bridge(5) && f.none(K::eval_global_batch_size); }

Patch NoIterations(F) { return {Assign(K::lr_decay_iters, Value()), Assign(K::lr_warmup_iters, 0)}; }
Patch NoSamples(F) { return {Assign(K::lr_decay_samples, Value()), Assign(K::lr_warmup_samples, 0)}; }

const Rule kRules[] = {
    {.id = "bridge-train.some-length",
     .area = "schedule",
     .at = At(kTrain, 480),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:480",
     .reads = {K::train_iters, K::train_samples, K::num_epochs},
     // A recipe has a length; this one was taken away.
     .when = [](F f) { return f.given(K::train_iters) && f.none(K::train_iters) && !BySamples(f) && !ByEpochs(f); },
     .needs = "a training has a length: train.train_iters, or train.train_samples in its place"},
    {.id = "bridge-train.one-length",
     .area = "schedule",
     .at = At(kTrain, 481),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:481",
     .reads = {K::train_iters, K::train_samples},
     .when = [](F f) { return f.set(K::train_iters) && BySamples(f); },
     .needs = "a training's length is said in iterations or in samples; the other is null",
     .fix = [](F) { return std::vector<Patch>{{Assign(K::train_samples, Value())}}; }},
    {.id = "bridge-train.epochs-alone",
     .area = "schedule",
     .at = At(kTrain, 482),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:481",
     .bridge = {.since = 6},
     .reads = {K::num_epochs, K::train_iters, K::train_samples},
     .when = [](F f) { return ByEpochs(f) && (f.set(K::train_iters) || BySamples(f)); },
     .needs = "epochs say the training's length: beside num_epochs the iterations that a recipe has are null",
     .fixes = {{{K::train_iters, kUnset}, {K::train_samples, kUnset}}, {{K::num_epochs, kUnset}}}},
    {.id = "bridge-train.length-positive",
     .area = "schedule",
     .at = At(kTrain, 483),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:487",
     .reads = {K::train_samples, K::num_epochs},
     .when =
         [](F f) {
           return (BySamples(f) && f.num(K::train_samples) <= 0) || (ByEpochs(f) && f.real(K::num_epochs) <= 0);
         },
     .needs = "a training has one sample at least, and some of an epoch"},
    {.id = "bridge-train.batch-said",
     .area = "batch",
     .at = At(kTrain, 491),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:491",
     .reads = {K::global_batch_size, K::eval_global_batch_size},
     .when =
         [](F f) { return f.given(K::global_batch_size) && f.none(K::global_batch_size) && !FollowedByValidation(f); },
     .needs = "train.global_batch_size is a number: lengths and schedules are counted in it"},
    {.id = "bridge-train.ramp-by-iterations",
     .area = "batch",
     .at = At(kTrain, 488),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:488",
     .reads = {K::rampup_batch_size, K::train_samples, K::num_epochs},
     .when = [](F f) { return f.set(K::rampup_batch_size) && (BySamples(f) || ByEpochs(f)); },
     .needs = "the batch grows in a training whose length is said in iterations only",
     .fixes = {{{K::rampup_batch_size, kUnset}}}},
    {.id = "bridge-schedule.iterations-or-samples",
     .area = "schedule",
     .at = At(kScheduler, 426),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:426",
     .reads = {K::lr_decay_iters, K::lr_warmup_iters, K::lr_wsd_decay_iters, K::lr_decay_samples, K::lr_warmup_samples,
               K::lr_wsd_decay_samples},
     .when = [](F f) { return SchedulesIterations(f) && SchedulesSamples(f); },
     .needs = "the learning rate's schedule is in iterations or in samples, not in both",
     .fix =
         [](F f) {
           Patch patch = BySamples(f) ? NoIterations(f) : NoSamples(f);
           const K decay = BySamples(f) ? K::lr_wsd_decay_iters : K::lr_wsd_decay_samples;
           if (f.set(decay)) patch.push_back(Assign(decay, Value()));
           return std::vector<Patch>{patch};
         }},
    {.id = "bridge-schedule.weight-decay-grows",
     .area = "schedule",
     .at = At(kScheduler, 413),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:413",
     .reads = {K::start_weight_decay, K::end_weight_decay},
     .when =
         [](F f) {
           return f.set(K::start_weight_decay) && (f.real(K::start_weight_decay) < 0 || f.none(K::end_weight_decay) ||
                                                   f.real(K::end_weight_decay) < f.real(K::start_weight_decay));
         },
     .needs = "the weight decay starts at 0 or above and ends no lower: start_weight_decay with end_weight_decay",
     .fix =
         [](F f) {
           const double start = f.real(K::start_weight_decay);
           std::vector<Patch> patches = {
               {Assign(K::start_weight_decay, Value()), Assign(K::end_weight_decay, Value())}};
           if (start >= 0) patches.insert(patches.begin(), {Assign(K::end_weight_decay, Value(start))});
           return patches;
         }},
    {.id = "bridge-schedule.one-source",
     .area = "schedule",
     .at = At(kScheduler, 416),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:416",
     .reads = {K::override_opt_param_scheduler, K::use_checkpoint_opt_param_scheduler},
     .when = [](F f) { return f.on(K::override_opt_param_scheduler) && f.on(K::use_checkpoint_opt_param_scheduler); },
     .needs = "the schedule is the launch's (override_opt_param_scheduler) or the checkpoint's, not both",
     .fixes = {{{K::use_checkpoint_opt_param_scheduler, false}}, {{K::override_opt_param_scheduler, false}}}},
    {.id = "bridge-schedule.one-warmup",
     .area = "schedule",
     .at = At(kScheduler, 435),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:435",
     .reads = {K::lr_warmup_fraction, K::lr_warmup_iters, K::lr_warmup_samples},
     .when =
         [](F f) {
           return f.set(K::lr_warmup_fraction) && (Warms(f, K::lr_warmup_iters) || Warms(f, K::lr_warmup_samples));
         },
     .needs = "the warmup is a fraction or a number: beside the fraction lr_warmup_iters and lr_warmup_samples are 0",
     .fix =
         [](F) {
           return std::vector<Patch>{{Assign(K::lr_warmup_iters, 0), Assign(K::lr_warmup_samples, 0)},
                                     {Assign(K::lr_warmup_fraction, Value())}};
         }},
    {.id = "bridge-ckpt.main-params-need-no-optimizer",
     .area = "checkpoint",
     .at = At(kCheckpoint, 599),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:599",
     .reads = {K::load_main_params_from_ckpt, K::load_optim},
     .when = [](F f) { return f.on(K::load_main_params_from_ckpt) && f.on(K::load_optim); },
     .needs = "main parameters are taken from the checkpoint where the optimizer's state is not: load_optim=false",
     .fixes = {{{K::load_optim, false}}, {{K::load_main_params_from_ckpt, false}}}},
    {.id = "bridge-ckpt.async-needs-save",
     .area = "checkpoint",
     .at = At(kCheckpoint, 602),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:602",
     .reads = {K::async_save, K::save},
     .when = [](F f) { return f.on(K::async_save) && TakenAway(f, K::save); },
     .needs = "checkpoints that are saved in the background need a folder: checkpoint.save=PATH",
     .fixes = {{{K::async_save, false}}}},
    {.id = "bridge-ckpt.async-needs-worker",
     .area = "checkpoint",
     .at = At(kCheckpoint, 603),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:603",
     .reads = {K::async_save, K::use_persistent_ckpt_worker},
     .when = [](F f) { return f.on(K::async_save) && !f.on(K::use_persistent_ckpt_worker); },
     .needs = "checkpoints that are saved in the background need the persistent worker",
     .fixes = {{{K::use_persistent_ckpt_worker, true}}, {{K::async_save, false}}}},
    {.id = "bridge-ckpt.hf-export-format",
     .area = "checkpoint",
     .at = At(kCheckpoint, 606),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:606",
     .bridge = {.since = 6},
     .reads = {K::also_save_hf_checkpoint, K::ckpt_format, K::non_persistent_ckpt_type},
     .when =
         [](F f) {
           return f.on(K::also_save_hf_checkpoint) &&
                  (f.is(K::ckpt_format, "fsdp_dtensor") || f.is(K::non_persistent_ckpt_type, "local"));
         },
     .needs = "weights are saved for Hugging Face beside torch_dist checkpoints, with no local non-persistent ones",
     .fixes = {{{K::also_save_hf_checkpoint, false}}}},
    {.id = "bridge-ckpt.step-needs-load",
     .area = "checkpoint",
     .at = At(kCheckpoint, 620),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:619",
     .reads = {K::ckpt_step, K::load},
     .when = [](F f) { return f.set(K::ckpt_step) && TakenAway(f, K::load); },
     .needs = "a step is one of the checkpoints of a folder: checkpoint.load=PATH",
     .fixes = {{{K::ckpt_step, kUnset}}}},
    {.id = "bridge-ckpt.reshardable-memory",
     .area = "checkpoint",
     .at = At(kCheckpoint, 626),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:626",
     .reads = {K::dist_ckpt_optim_fully_reshardable, K::distrib_optim_fully_reshardable_mem_efficient},
     .when =
         [](F f) {
           return f.on(K::dist_ckpt_optim_fully_reshardable) && f.on(K::distrib_optim_fully_reshardable_mem_efficient);
         },
     .needs = "Bridge has no Gloo groups for the optimizer state that takes less memory to save",
     .fixes = {{{K::distrib_optim_fully_reshardable_mem_efficient, false}}}},
    {.id = "bridge-ckpt.fsdp-format",
     .area = "checkpoint",
     .at = At(1531),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1531",
     .reads = {K::ckpt_format, K::save, K::load, K::use_megatron_fsdp, K::use_torch_fsdp2},
     .when =
         [](F f) {
           return Checkpoints(f) && f.is(K::ckpt_format, "fsdp_dtensor") &&
                  (!f.on(K::use_megatron_fsdp) || f.on(K::use_torch_fsdp2));
         },
     .needs = "checkpoints in the format fsdp_dtensor are Megatron-FSDP's alone",
     .fixes = {{{K::ckpt_format, "torch_dist"}}}},
    {.id = "bridge-ckpt.async-format",
     .area = "checkpoint",
     .at = At(1537),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1537",
     .bridge = {.since = 5},
     .reads = {K::async_save, K::ckpt_format},
     .when = [](F f) { return f.on(K::async_save) && !SavesSharded(f); },
     .needs = "only the formats torch_dist and fsdp_dtensor are saved in the background",
     .fixes = {{{K::async_save, false}}, {{K::ckpt_format, "torch_dist"}}}},
    {.id = "bridge-ckpt.async-format",
     .area = "checkpoint",
     .at = At(1537),
     .source = "Megatron-Bridge 0.4.2:src/megatron/bridge/training/config.py:1158",
     .bridge = {.until = 4},
     .reads = {K::async_save, K::ckpt_format},
     .when = [](F f) { return f.on(K::async_save) && !f.is(K::ckpt_format, "torch_dist"); },
     .needs = "only the format torch_dist is saved in the background",
     .fixes = {{{K::async_save, false}}, {{K::ckpt_format, "torch_dist"}}}},
    {.id = "bridge-peft.pretrained-checkpoint",
     .area = "checkpoint",
     .at = At(1627),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1627",
     .reads = {K::pretrained_checkpoint, K::peft_scheme},
     .when = [](F f) { return f.env().written && AdaptersConfigured(f.config()) && f.none(K::pretrained_checkpoint); },
     .needs =
         "adapters are trained on a model that is loaded: checkpoint.pretrained_checkpoint=PATH, which the recipes "
         "leave open"},
    {.id = "bridge-schedule.unit-of-training",
     .area = "schedule",
     .at = At(1705),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1709",
     .reads = {K::train_samples, K::lr_decay_iters, K::lr_warmup_iters, K::lr_decay_samples, K::lr_warmup_samples},
     .when = [](F f) { return BySamples(f) ? SaysIterations(f) : SaysSamples(f); },
     .needs = "the learning rate's schedule has the unit of the training's length: samples beside train_samples, else "
              "iterations",
     .fix = [](F f) { return std::vector<Patch>{BySamples(f) ? NoIterations(f) : NoSamples(f)}; }},
    {.id = "bridge-schedule.max-steps",
     .area = "schedule",
     .at = At(1769),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1768",
     .bridge = {.since = 6},
     .reads = {K::scheduler_max_steps, K::train_iters, K::train_samples},
     .when =
         [](F f) {
           if (!f.set(K::scheduler_max_steps)) return false;
           const bool shorter = f.set(K::train_iters) && f.num(K::scheduler_max_steps) < f.num(K::train_iters);
           return BySamples(f) || shorter || f.num(K::scheduler_max_steps) <= 0;
         },
     .needs = "the schedule of a longer training, of which train_iters are run: no fewer steps than those, and not by "
              "samples",
     .fix =
         [](F f) {
           std::vector<Patch> patches = {{Assign(K::scheduler_max_steps, Value())}};
           const bool iterations = !BySamples(f) && f.set(K::train_iters) && f.num(K::train_iters) > 0;
           if (iterations) patches.push_back({Assign(K::scheduler_max_steps, f.num(K::train_iters))});
           return patches;
         }},
    {.id = "bridge-schedule.decay-positive",
     .area = "schedule",
     .at = At(1794),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1793",
     .reads = {K::train_iters, K::train_samples, K::lr_decay_iters, K::lr_decay_samples},
     .when = NeverFalls,
     .needs = "the learning rate falls over one step at least: lr_decay_iters (lr_decay_samples beside train_samples), "
              "and where that is not set the training's own length",
     .fix =
         [](F f) {
           std::vector<Patch> patches;
           if (f.set(DecayKnob(f)) && f.num(BySamples(f) ? K::train_samples : K::train_iters) > 0) {
             patches.push_back({Assign(DecayKnob(f), Value())});
           }
           return patches;
         }},
    {.id = "bridge-schedule.warmup-capped",
     .area = "schedule",
     .kind = Kind::kInfo,
     .at = At(1797),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1792",
     .reads = {K::lr_warmup_iters, K::lr_warmup_fraction, K::lr_decay_iters, K::scheduler_max_steps, K::train_iters,
               K::train_samples},
     .when = [](F f) { return DecayIterations(f) > 0 && WarmupIterations(f) >= DecayIterations(f); },
     .needs = "the warmup is as long as the schedule, so that the learning rate only rises: it is cut to end one step "
              "before",
     .fix =
         [](F f) {
           Patch patch = {Assign(K::lr_warmup_iters, static_cast<int64_t>(DecayIterations(f)) / 10)};
           if (f.set(K::lr_warmup_fraction)) patch.push_back(Assign(K::lr_warmup_fraction, Value()));
           return std::vector<Patch>{patch};
         }},
};

}  // namespace

RuleList BridgeTrainingRules() { return kRules; }

}  // namespace flightplan
