// Flags that are gone, and old names that still work.
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

const Rule kRules[] = {
    {.id = "mlm.batch-size-removed",
     .area = "deprecated",
     .at = {Phase::kCliValidate, 591},
     .source = "Megatron-LM:megatron/training/arguments.py:591",
     .reads = {K::batch_size},
     .when = [](F f) { return f.set(K::batch_size); },
     .needs = "--batch-size is gone: --micro-batch-size takes its place",
     .fixes = {{{K::batch_size, kUnset}}},
     .fix = [](F f) -> std::vector<Patch> {
       return {{Assign(K::batch_size, Value()), Assign(K::micro_batch_size, f.value(K::batch_size))}};
     }},
    {.id = "mlm.warmup-removed",
     .area = "deprecated",
     .at = {Phase::kCliValidate, 594},
     .source = "Megatron-LM:megatron/training/arguments.py:594",
     .reads = {K::warmup},
     .when = [](F f) { return f.set(K::warmup); },
     .needs = "--warmup is gone: --lr-warmup-fraction takes its place",
     .fixes = {{{K::warmup, kUnset}}}},
    {.id = "mlm.model-parallel-size-removed",
     .area = "deprecated",
     .at = {Phase::kCliValidate, 597},
     .source = "Megatron-LM:megatron/training/arguments.py:597",
     .reads = {K::model_parallel_size},
     .when = [](F f) { return f.set(K::model_parallel_size); },
     .needs = "--model-parallel-size is gone: --tensor-model-parallel-size takes its place",
     .fix = [](F f) -> std::vector<Patch> {
       return {{Assign(K::model_parallel_size, Value()),
                Assign(K::tensor_model_parallel_size, f.value(K::model_parallel_size))},
               {Assign(K::model_parallel_size, Value())}};
     }},
    {.id = "mlm.checkpoint-activations-removed",
     .area = "deprecated",
     .at = {Phase::kCliValidate, 601},
     .source = "Megatron-LM:megatron/training/arguments.py:601",
     .reads = {K::checkpoint_activations},
     .when = [](F f) { return f.on(K::checkpoint_activations); },
     .needs = "--checkpoint-activations is gone: the launch prints a note and stops",
     .fixes = {{{K::checkpoint_activations, false},
                {K::recompute_granularity, "full"},
                {K::recompute_method, "uniform"},
                {K::recompute_num_layers, 1}},
               {{K::checkpoint_activations, false}}}},
    {.id = "mlm.recompute-activations-alias",
     .area = "recompute",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 607},
     .source = "Megatron-LM:megatron/training/arguments.py:607",
     .reads = {K::recompute_activations},
     .change =
         [](Editor& e) {
           if (e.facts().on(K::recompute_activations)) e.Set(K::recompute_granularity, "selective");
         }},
};

}  // namespace

RuleList MegatronLmDeprecatedRules() { return kRules; }

}  // namespace flightplan
