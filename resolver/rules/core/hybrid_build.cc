// What the construction of a model of several kinds of layers refuses (NVIDIA/Megatron-LM@d98e8a64dd unless a source
// says otherwise). What its command line says before is in megatron_lm/hybrid.cc.
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

bool Hybrid(F f) {
  return f.on(K::is_hybrid_model) || f.set(K::hybrid_layer_pattern) || f.set(K::hybrid_override_pattern);
}

bool HasVirtualStages(F f) {
  return f.num(K::pipeline_model_parallel_size) > 1 && f.set(K::virtual_pipeline_model_parallel_size);
}

std::vector<Patch> NoVirtualStages(F f) {
  Patch patch;
  for (const K knob : {K::virtual_pipeline_model_parallel_size, K::num_virtual_stages_per_pipeline_rank,
                       K::num_layers_per_virtual_pipeline_stage, K::pipeline_model_parallel_layout}) {
    if (f.set(knob)) patch.push_back(Assign(knob, Value()));
  }
  return {patch};
}

const Rule kRules[] = {
    {.id = "build.hybrid-no-virtual-stages",
     .area = "pipeline",
     .at = {Phase::kBuild, 20175},
     .source = "Megatron-LM@core_v0.16.0 megatron/core/ssm/mamba_block.py:175",
     .core = {0, 16},
     .reads = {K::is_hybrid_model, K::hybrid_layer_pattern, K::hybrid_override_pattern,
               K::virtual_pipeline_model_parallel_size, K::pipeline_model_parallel_size},
     .when = [](F f) { return !f.container() && Hybrid(f) && HasVirtualStages(f); },
     .needs = "a stack of Mamba and attention layers has no virtual pipeline stages before Megatron-Core 0.17",
     .fix = NoVirtualStages},
    {.id = "build.bridge-hybrid-no-virtual-stages",
     .area = "pipeline",
     .at = {Phase::kBuild, 20176},
     .source = "Megatron-Bridge:src/megatron/bridge/models/hybrid/hybrid_provider.py:291",
     .reads = {K::is_hybrid_model, K::virtual_pipeline_model_parallel_size},
     .when = [](F f) { return f.container() && Hybrid(f) && f.set(K::virtual_pipeline_model_parallel_size); },
     .needs = "Megatron-Bridge builds hybrid models without virtual pipeline stages",
     .fix = NoVirtualStages},
    // GPTModel alone builds the plan of one; HybridModel does in no release (Megatron-LM#4942 is to add it).
    {.id = "build.ep-overlap-hybrid-model",
     .area = "ep-overlap",
     .at = {Phase::kBuild, 20381},
     .source = "Megatron-LM:megatron/core/pipeline_parallel/combined_1f1b.py:381",
     .reads = {K::overlap_moe_expert_parallel_comm, K::is_hybrid_model, K::hybrid_layer_pattern},
     .when = [](F f) { return f.on(K::overlap_moe_expert_parallel_comm) && Hybrid(f); },
     .needs = "models of a hybrid layer pattern have no schedule that overlaps their all-to-all",
     .fixes = {{{K::overlap_moe_expert_parallel_comm, false}, {K::delay_wgrad_compute, false}}}},
};

}  // namespace

RuleList CoreHybridBuildRules() { return kRules; }

}  // namespace flightplan
