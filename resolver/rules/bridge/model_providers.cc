// What single models' providers of Bridge refuse although a plain GPT takes it: on finalize, when their layers are
// made, or in the first step (Megatron-Bridge@067f987df src/megatron/bridge/models).
#include "resolver/derive/bridge_provider.h"
#include "resolver/rules/core/lists_util.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

bool By(F f, BridgeProvider provider) {
  return f.container() && provider == BridgeProviderOf([&f](K knob) -> const Value& { return f.value(knob); });
}

bool Packs(F f) {
  return f.on(K::dataset_offline_packing_specs) || f.on(K::dataset_enable_offline_packing) ||
         f.on(K::dataset_enable_in_batch_packing);
}

std::vector<Patch> OneContextRank(F) { return {{Assign(K::context_parallel_size, 1)}}; }

std::vector<Patch> NoPacking(F f) {
  Patch patch;
  for (const K knob :
       {K::dataset_offline_packing_specs, K::dataset_enable_offline_packing, K::dataset_enable_in_batch_packing}) {
    if (f.on(knob)) patch.push_back(Assign(knob, false));
  }
  return {patch};
}

std::vector<Patch> NoVirtualStages(F f) {
  Patch patch = {Assign(K::virtual_pipeline_model_parallel_size, Value())};
  if (f.set(K::pipeline_model_parallel_layout)) patch.push_back(Assign(K::pipeline_model_parallel_layout, Value()));
  return {patch};
}

// Gemma 4 gives router, shared and routed experts inputs of their own, which Megatron-Core's ways of running an MoE
// layer in parts do not know.
bool RecomputesNorms(F f) {
  return f.is(K::recompute_granularity, "selective") && HasAny(f, K::recompute_modules, {"layernorm"});
}
bool OffloadsNorms(F f) {
  return f.on(K::fine_grained_activation_offloading) && HasAny(f, K::offload_modules, {"mlp_norm"});
}
bool Chunked(F f, K knob) { return f.num(knob) > 1; }
bool Gemma4RunsInParts(F f) {
  if (!By(f, BridgeProvider::kGemma4Moe)) return false;
  return !f.is(K::cuda_graph_impl, "none") || f.on(K::moe_shared_expert_overlap) || RecomputesNorms(f) ||
         OffloadsNorms(f) || Chunked(f, K::mlp_chunks_for_prefill) || Chunked(f, K::mlp_chunks_for_training) ||
         f.on(K::inference_fuse_tp_communication) || f.is(K::transformer_impl, "inference_optimized");
}
std::vector<Patch> InOnePart(F f) {
  Patch patch;
  const auto set = [&patch](bool so, K knob, Value value) {
    if (so) patch.push_back(Assign(knob, std::move(value)));
  };
  set(!f.is(K::cuda_graph_impl, "none"), K::cuda_graph_impl, Value("none"));
  set(f.on(K::enable_cuda_graph), K::enable_cuda_graph, false);
  set(f.on(K::moe_shared_expert_overlap), K::moe_shared_expert_overlap, false);
  if (RecomputesNorms(f)) {
    const Value rest = Without(f.value(K::recompute_modules), {"layernorm"});
    if (rest.list().empty()) {
      patch.push_back(Assign(K::recompute_granularity, Value()));
    } else {
      patch.push_back(Assign(K::recompute_modules, rest));
    }
  }
  if (OffloadsNorms(f)) {
    const Value rest = Without(f.value(K::offload_modules), {"mlp_norm"});
    if (rest.list().empty()) patch.push_back(Assign(K::fine_grained_activation_offloading, false));
    patch.push_back(Assign(K::offload_modules, rest));
  }
  for (const K knob : {K::mlp_chunks_for_prefill, K::mlp_chunks_for_training}) set(Chunked(f, knob), knob, Value(1));
  set(f.on(K::inference_fuse_tp_communication), K::inference_fuse_tp_communication, false);
  set(f.is(K::transformer_impl, "inference_optimized"), K::transformer_impl, Value("transformer_engine"));
  return {patch};
}

const Rule kRules[] = {
    {.id = "bridge-gemma4.moe-in-one-part",
     .area = "moe",
     .at = {Phase::kModelPrepare, 0},
     .source = "Megatron-Bridge:src/megatron/bridge/models/gemma/gemma4_provider.py:72",
     .bridge = {.since = 6},
     .reads = {K::activation_func, K::num_moe_experts, K::cuda_graph_impl, K::moe_shared_expert_overlap,
               K::recompute_granularity, K::recompute_modules, K::offload_modules, K::mlp_chunks_for_training,
               K::transformer_impl},
     .when = Gemma4RunsInParts,
     .needs = "Gemma 4's MoE layers run as a whole: no CUDA graphs, no overlapped shared experts, no recomputed or "
              "offloaded norms, no chunks",
     .fix = InOnePart},
    {.id = "build.bridge-gemma2-no-cp",
     .area = "context-parallel",
     .at = {Phase::kBuild, 20122},
     .source = "Megatron-Bridge:src/megatron/bridge/models/gemma/gemma2_provider.py:122",
     .reads = {K::context_parallel_size, K::activation_func, K::window_size, K::qk_layernorm},
     .when = [](F f) { return f.num(K::context_parallel_size) > 1 && By(f, BridgeProvider::kGemma2); },
     .needs = "Megatron-Bridge builds Gemma 2 with an attention of its own, which takes no context parallelism",
     .fix = OneContextRank},
    {.id = "build.bridge-gemma2-no-packing",
     .area = "dataset",
     .at = {Phase::kBuild, 20187},
     .source = "Megatron-Bridge:src/megatron/bridge/models/gemma/gemma2_provider.py:187",
     .reads = {K::dataset_offline_packing_specs, K::dataset_enable_offline_packing, K::dataset_enable_in_batch_packing,
               K::activation_func, K::window_size, K::qk_layernorm},
     .when = [](F f) { return Packs(f) && By(f, BridgeProvider::kGemma2); },
     .needs = "Megatron-Bridge builds Gemma 2 with an attention of its own, which takes no packed sequences",
     .fix = NoPacking},
    {.id = "build.bridge-kimi-k3-no-cp",
     .area = "context-parallel",
     .at = {Phase::kBuild, 20126},
     .source = "Megatron-Bridge:src/megatron/bridge/models/kimi/kimi_k3_layers.py:126",
     .reads = {K::context_parallel_size, K::moe_latent_size, K::position_embedding_type, K::multi_latent_attention},
     .when = [](F f) { return f.num(K::context_parallel_size) > 1 && By(f, BridgeProvider::kKimiK3); },
     .needs = "Kimi delta attention of Megatron-Bridge takes no context parallelism",
     .fix = OneContextRank},
    {.id = "build.bridge-kimi-k3-no-virtual-stages",
     .area = "pipeline",
     .at = {Phase::kBuild, 20054},
     .source = "Megatron-Bridge:src/megatron/bridge/models/kimi/kimi_k3_spec.py:54",
     .reads = {K::virtual_pipeline_model_parallel_size, K::moe_latent_size, K::position_embedding_type,
               K::multi_latent_attention},
     .when = [](F f) { return f.set(K::virtual_pipeline_model_parallel_size) && By(f, BridgeProvider::kKimiK3); },
     .needs = "Megatron-Bridge builds Kimi K3 without virtual pipeline stages",
     .fix = NoVirtualStages},
    {.id = "bridge-deepseek-v4.dev-core",
     .area = "version-gate",
     .kind = Kind::kWarning,
     .at = {Phase::kBuild, 20162},
     .source = "Megatron-Bridge:examples/models/deepseek_v4/README.md:46",
     .reads_env = {"model_type"},
     .when = [](F f) { return f.container() && f.env().model_type == "deepseek_v4"; },
     .needs =
         "the Megatron-LM that Bridge pins builds no DeepSeek-V4 (ValueError: its attention is unknown there): take "
         "Megatron-LM's dev branch, ./scripts/switch_mcore.sh dev"},
};

}  // namespace

RuleList BridgeModelProvidersRules() { return kRules; }

}  // namespace flightplan
