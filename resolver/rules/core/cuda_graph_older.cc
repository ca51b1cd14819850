// CUDA graphs in Megatron-Core 0.15, before modules could be named: scope is one word, recompute nearly impossible.
#include "resolver/rules/core/graph_util.h"
#include "resolver/rules/core/lists_util.h"
#include "resolver/rules/core/upstream.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

bool RecomputesInGraph(F f) { return GraphsOn(f) && f.on(K::recompute_granularity); }
bool AttentionOnly(F f) {
  return f.is(K::recompute_granularity, "selective") && GraphImpl(f, "transformer_engine") &&
         f.is(K::cuda_graph_scope, "attn");
}

constexpr StaticFixes kNoRecompute = {{{K::recompute_granularity, kUnset},
                                       {K::moe_layer_recompute, false},
                                       {K::recompute_method, kUnset},
                                       {K::recompute_num_layers, kUnset}}};

const Rule kRules[] = {
    {.id = "cuda-graph.recompute-needs-te-attn",
     .area = "cuda-graph",
     OLDER_TRANSFORMER_CONFIG("0.15.3", 1403, 2856),
     .core = {.since = 15, .until = 15},
     .reads = {K::cuda_graph_impl, K::cuda_graph_scope, K::recompute_granularity},
     .when = [](F f) { return RecomputesInGraph(f) && !AttentionOnly(f); },
     .needs = "core 0.15 recomputes inside Transformer Engine graphs of attention only, and selectively",
     .fixes = kNoRecompute},
    {.id = "cuda-graph.te-attn-recompute-modules",
     .area = "cuda-graph",
     OLDER_TRANSFORMER_CONFIG("0.15.3", 1407, 2857),
     .core = {.since = 15, .until = 15},
     .reads = {K::cuda_graph_scope, K::recompute_modules},
     .when =
         [](F f) {
           return RecomputesInGraph(f) && AttentionOnly(f) &&
                  HasAny(f, K::recompute_modules, {"core_attn", "mla_up_proj"});
         },
     .needs = "captured attention cannot recompute core_attn (the default module) or mla_up_proj",
     .fix =
         [](F f) {
           return std::vector<Patch>{
               {Assign(K::recompute_modules, Without(f.value(K::recompute_modules), {"core_attn", "mla_up_proj"}))}};
         }},
    {.id = "cuda-graph.attn-layernorm-recompute",
     .area = "cuda-graph",
     .kind = Kind::kWarning,
     OLDER_TRANSFORMER_CONFIG("0.15.3", 1411, 2858),
     .core = {.since = 15, .until = 15},
     .reads = {K::cuda_graph_scope, K::recompute_modules},
     .when = [](F f) { return RecomputesInGraph(f) && AttentionOnly(f) && f.has(K::recompute_modules, "layernorm"); },
     .needs = "with captured attention only the norm before the MLP is recomputed"},
};

}  // namespace

RuleList CoreCudaGraphOlderRules() { return kRules; }

}  // namespace flightplan
