// CUDA graphs in Megatron-Core 0.15, before modules could be named: scope is one word, recompute nearly impossible.
#include "absl/strings/match.h"
#include "resolver/rules/core/graph_util.h"
#include "resolver/rules/core/lists_util.h"
#include "resolver/rules/core/upstream.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

bool RecomputesInGraph(F f) { return GraphsOn(f) && f.on(K::recompute_granularity); }
// The scope is one word. A list stands for its only one, as a command line has it.
bool ScopeIs(F f, absl::string_view word) {
  const Value& scope = f.value(K::cuda_graph_scope);
  return scope.text() == word || (scope.list().size() == 1 && scope.list().front().text() == word);
}
bool NoWordOfScope(F f) {
  const Value& scope = f.value(K::cuda_graph_scope);
  const bool unset = scope.is_none() || (scope.is_list() && scope.list().empty());
  return !unset && !ScopeIs(f, "full") && !ScopeIs(f, "attn") && !ScopeIs(f, "full_iteration");
}
bool AttentionOnly(F f) {
  return f.is(K::recompute_granularity, "selective") && GraphImpl(f, "transformer_engine") && ScopeIs(f, "attn");
}

constexpr StaticFixes kNoRecompute = {{{K::recompute_granularity, kUnset},
                                       {K::moe_layer_recompute, false},
                                       {K::recompute_method, kUnset},
                                       {K::recompute_num_layers, kUnset}}};

// The fork has checks of its own for both (rules/loongforge/fork.cc, and its flags).
const Rule kRules[] = {
    {.id = "cuda-graph.older-scope",
     .area = "cuda-graph",
     .at = {Phase::kBuild, 1515},
     .source = "Megatron-LM 0.15.3:megatron/core/transformer/cuda_graphs.py:1515; "
               "Megatron-LM 0.15.3:megatron/training/arguments.py:1411",
     .core = {.since = 15, .until = 15},
     .reads = {K::cuda_graph_impl, K::cuda_graph_scope},
     .when =
         [](F f) { return !f.fork() && NoWordOfScope(f) && (f.command_line() || GraphImpl(f, "transformer_engine")); },
     .needs = "core 0.15 captures the whole layer or its attention: cuda_graph_scope is full, attn or full_iteration",
     .fixes = {{{K::cuda_graph_scope, "attn"}}, {{K::cuda_graph_scope, "full"}}}},
    {.id = "cuda-graph.older-expandable",
     .area = "cuda-graph",
     .at = {Phase::kBuild, 1349},
     .source = "Megatron-LM 0.15.3:megatron/core/transformer/cuda_graphs.py:1349; "
               "Megatron-LM 0.15.3:megatron/training/arguments.py:1198",
     .core = {.since = 15, .until = 15},
     .reads = {K::cuda_graph_impl},
     .reads_env = {"PYTORCH_CUDA_ALLOC_CONF"},
     .when =
         [](F f) {
           return !f.fork() && GraphsOn(f) &&
                  absl::StrContains(f.var("PYTORCH_CUDA_ALLOC_CONF"), "expandable_segments:True");
         },
     .needs = "CUDA graphs of core 0.15 cannot use expandable_segments",
     .fixes = {{{{}, "", "PYTORCH_CUDA_ALLOC_CONF"}}, {{K::cuda_graph_impl, "none"}}}},
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
