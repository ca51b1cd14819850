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

Patch NoIterations(F) { return {Assign(K::lr_decay_iters, Value()), Assign(K::lr_warmup_iters, 0)}; }
Patch NoSamples(F) { return {Assign(K::lr_decay_samples, Value()), Assign(K::lr_warmup_samples, 0)}; }

const Rule kRules[] = {
    {.id = "bridge-train.one-length",
     .area = "schedule",
     .at = At(kTrain, 481),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:481",
     .reads = {K::train_iters, K::train_samples},
     .when = [](F f) { return f.set(K::train_iters) && BySamples(f); },
     .needs = "a training's length is said in iterations or in samples; the other is null",
     .fix = [](F) { return std::vector<Patch>{{Assign(K::train_samples, Value())}}; }},
    {.id = "bridge-schedule.iterations-or-samples",
     .area = "schedule",
     .at = At(kScheduler, 426),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:426",
     .reads = {K::lr_decay_iters, K::lr_warmup_iters, K::lr_decay_samples, K::lr_warmup_samples},
     .when = [](F f) { return SaysIterations(f) && SaysSamples(f); },
     .needs = "the learning rate's schedule is in iterations or in samples, not in both",
     .fix = [](F f) { return std::vector<Patch>{BySamples(f) ? NoIterations(f) : NoSamples(f)}; }},
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
    {.id = "bridge-ckpt.async-needs-save",
     .area = "checkpoint",
     .at = At(kCheckpoint, 602),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:602",
     .reads = {K::async_save, K::save},
     .when = [](F f) { return f.on(K::async_save) && f.none(K::save); },
     .needs = "checkpoints that are saved in the background need a folder: checkpoint.save=PATH",
     .fixes = {{{K::async_save, false}}}},
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
     .reads = {K::async_save, K::ckpt_format},
     .when = [](F f) { return f.on(K::async_save) && !SavesSharded(f); },
     .needs = "only the formats torch_dist and fsdp_dtensor are saved in the background",
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
};

}  // namespace

RuleList BridgeTrainingRules() { return kRules; }

}  // namespace flightplan
