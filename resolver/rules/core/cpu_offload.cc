// Whole-layer CPU offloading (Transformer Engine's).
#include "resolver/rules/core/upstream.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

const Rule kRules[] = {
    {.id = "cpu-offload.layers-range",
     .area = "cpu-offload",
     TRANSFORMER_CONFIG(1887),
     .reads = {K::cpu_offloading, K::cpu_offloading_num_layers, K::num_layers},
     .when =
         [](F f) {
           const int64_t layers = f.num(K::cpu_offloading_num_layers);
           return f.on(K::cpu_offloading) && (layers < 0 || layers >= f.num(K::num_layers));
         },
     .needs = "cpu_offloading_num_layers is at least 0 and less than num_layers",
     .fix =
         [](F f) {
           const int64_t most = f.num(K::num_layers) - 1;
           if (f.num(K::cpu_offloading_num_layers) < 0 || most < 0)
             return std::vector<Patch>{{Assign(K::cpu_offloading, false)}};
           return std::vector<Patch>{{Assign(K::cpu_offloading_num_layers, most)}, {Assign(K::cpu_offloading, false)}};
         }},
    {.id = "cpu-offload.no-pp",
     .area = "cpu-offload",
     TRANSFORMER_CONFIG(1892),
     .reads = {K::cpu_offloading, K::pipeline_model_parallel_size},
     .when = [](F f) { return f.on(K::cpu_offloading) && f.num(K::pipeline_model_parallel_size) > 1; },
     .needs = "CPU offloading has no pipeline support",
     .fixes = {{{K::cpu_offloading, false}}}},
    {.id = "cpu-offload.no-recompute",
     .area = "cpu-offload",
     TRANSFORMER_CONFIG(1897),
     .reads = {K::cpu_offloading, K::recompute_granularity},
     .when = [](F f) { return f.on(K::cpu_offloading) && f.set(K::recompute_granularity); },
     .needs = "activations are either offloaded or recomputed",
     .fixes = {{{K::cpu_offloading, false}}, {{K::recompute_granularity, kUnset}}}},
};

}  // namespace

RuleList CoreCpuOffloadRules() { return kRules; }

}  // namespace flightplan
