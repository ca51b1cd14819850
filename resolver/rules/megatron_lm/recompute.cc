// Activation recompute on the command line.
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

const Rule kRules[] = {
    {.id = "mlm.dist-saved-act-tp",
     .area = "recompute",
     .at = {Phase::kCliValidate, 1411},
     .source = "Megatron-LM:megatron/training/arguments.py:1411",
     .reads = {K::distribute_saved_activations, K::tensor_model_parallel_size},
     .when = [](F f) { return f.on(K::distribute_saved_activations) && f.num(K::tensor_model_parallel_size) <= 1; },
     .needs = "distribute_saved_activations spreads over tensor-parallel ranks: it needs more than one",
     .fixes = {{{K::distribute_saved_activations, false}}}},
    {.id = "mlm.dist-saved-act-full",
     .area = "recompute",
     .at = {Phase::kCliValidate, 1414},
     .source = "Megatron-LM:megatron/training/arguments.py:1414",
     .reads = {K::distribute_saved_activations, K::recompute_granularity},
     .when = [](F f) { return f.on(K::distribute_saved_activations) && !f.is(K::recompute_granularity, "full"); },
     .needs = "distribute_saved_activations needs recompute_granularity full",
     .fixes = {{{K::distribute_saved_activations, false}}}},
    {.id = "mlm.dist-saved-act-method",
     .area = "recompute",
     .at = {Phase::kCliValidate, 1417},
     .source = "Megatron-LM:megatron/training/arguments.py:1417",
     .reads = {K::distribute_saved_activations, K::recompute_method},
     .when = [](F f) { return f.on(K::distribute_saved_activations) && f.none(K::recompute_method); },
     .needs = "distribute_saved_activations needs a recompute_method",
     .fixes = {{{K::distribute_saved_activations, false}}, {{K::recompute_method, "uniform"}}}},
    {.id = "mlm.dist-saved-act-torch",
     .area = "misc",
     .at = {Phase::kCliValidate, 1420},
     .source = "Megatron-LM:megatron/training/arguments.py:1420",
     .reads = {K::distribute_saved_activations},
     .reads_env = {"torch"},
     .when = [](F f) { return f.on(K::distribute_saved_activations) && !f.torch_at_least("1.10.0a0"); },
     .needs = "distribute_saved_activations needs PyTorch 1.10",
     .fixes = {{{K::distribute_saved_activations, false}}}},
    {.id = "mlm.selective-no-method",
     .area = "recompute",
     .at = {Phase::kCliValidate, 1426},
     .source = "Megatron-LM:megatron/training/arguments.py:1426",
     .reads = {K::recompute_granularity, K::recompute_method},
     .when = [](F f) { return f.is(K::recompute_granularity, "selective") && f.set(K::recompute_method); },
     .needs = "selective recompute takes no recompute_method",
     .fixes = {{{K::recompute_granularity, "full"}, {K::recompute_num_layers, 1}}},
     .fix =
         [](F f) {
           Patch patch = {Assign(K::recompute_method, Value())};
           // It asks for the method that goes.
           if (f.on(K::distribute_saved_activations)) patch.push_back(Assign(K::distribute_saved_activations, false));
           return std::vector<Patch>{patch};
         }},
};

}  // namespace

RuleList MegatronLmRecomputeRules() { return kRules; }

}  // namespace flightplan
