// What the scheduler that Bridge builds from the optimizer's and the scheduler's section makes of their values. Lines
// are those of NVIDIA/Megatron-LM@d98e8a64dd megatron/core/optimizer_param_scheduler.py.
#include <vector>

#include "resolver/rules/core/facts_util.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

constexpr Place At(int line) { return {Phase::kBuild, 40000 + line}; }

bool EndsTooHigh(F f) { return f.real(K::min_lr) > f.real(K::lr); }
bool DecaysDiffer(F f) {
  return f.set(K::start_weight_decay) && f.set(K::end_weight_decay) &&
         f.real(K::start_weight_decay) < f.real(K::end_weight_decay);
}

const Rule kRules[] = {
    {.id = "bridge-schedule.lr-between",
     .area = "schedule",
     .at = At(151),
     .source = "Megatron-LM:megatron/core/optimizer_param_scheduler.py:151",
     .reads = {K::lr, K::min_lr, K::lr_warmup_init},
     .when =
         [](F f) {
           return f.container() && f.set(K::lr) && (f.real(K::min_lr) < 0 || EndsTooHigh(f) || StartsTooHigh(f));
         },
     .needs = "the learning rate starts no higher than optimizer.lr (scheduler.lr_warmup_init) and falls to "
              "optimizer.min_lr, from 0 to optimizer.lr",
     .fix =
         [](F f) {
           Patch patch;
           if (EndsTooHigh(f)) patch.push_back(Assign(K::min_lr, f.value(K::lr)));
           if (f.real(K::min_lr) < 0) patch.push_back(Assign(K::min_lr, Value(0.0)));
           if (StartsTooHigh(f)) patch.push_back(Assign(K::lr_warmup_init, Value(0.0)));
           return std::vector<Patch>{patch};
         }},
    {.id = "bridge-schedule.weight-decay-style",
     .area = "schedule",
     .at = At(201),
     .source = "Megatron-LM:megatron/core/optimizer_param_scheduler.py:201",
     .reads = {K::weight_decay_incr_style, K::start_weight_decay, K::end_weight_decay},
     .when = [](F f) { return f.container() && f.is(K::weight_decay_incr_style, "constant") && DecaysDiffer(f); },
     .needs = "a weight decay that is constant ends as it starts; one that grows says how: "
              "scheduler.weight_decay_incr_style=linear or cosine",
     .fix =
         [](F f) {
           return std::vector<Patch>{{Assign(K::end_weight_decay, f.value(K::start_weight_decay))},
                                     {Assign(K::weight_decay_incr_style, "linear")}};
         }},
    {.id = "bridge-schedule.weight-decay-unread",
     .area = "schedule",
     .kind = Kind::kWarning,
     .at = {Phase::kAdvice, 212},
     .source = "Megatron-LM:megatron/core/optimizer_param_scheduler.py:300",
     .reads = {K::weight_decay, K::start_weight_decay, K::end_weight_decay},
     .when =
         [](F f) {
           const bool same = f.set(K::start_weight_decay) && f.real(K::start_weight_decay) == f.real(K::weight_decay);
           return f.container() && f.origin(K::weight_decay) == Origin::kCaller && f.set(K::weight_decay) && !same;
         },
     .needs = "every step writes the scheduler's weight decay over the optimizer's, so that optimizer.weight_decay is "
              "trained with only where scheduler.start_weight_decay and end_weight_decay say the same",
     .fix =
         [](F f) {
           return std::vector<Patch>{{Assign(K::start_weight_decay, f.value(K::weight_decay)),
                                      Assign(K::end_weight_decay, f.value(K::weight_decay))}};
         }},
};

}  // namespace

RuleList BridgeScheduleRules() { return kRules; }

}  // namespace flightplan
