// Switches of inference that a training configuration may carry: batch-invariant kernels and the inference-optimized
// layers. Reinforcement learning sets them, and so does a command line that was copied from a server.
#include "resolver/rules/core/upstream.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

bool Invariant(F f) { return f.on(K::batch_invariant_mode); }
bool InvariantMoe(F f) { return Invariant(f) && f.num(K::num_moe_experts) > 0; }
bool InferenceLayers(F f) { return f.is(K::transformer_impl, "inference_optimized"); }
bool InferenceMoe(F f) { return InferenceLayers(f) && f.set(K::num_moe_experts); }
bool NamesFlashVersion(F f) {
  const int64_t version = f.num(K::flash_attention_version);
  return version == 3 || version == 4;
}

// FlashAttention as the release wants it: from 0.19 on its version must be named too.
std::vector<Patch> FlashAttention(F f) {
  Patch patch = {Assign(K::attention_backend, "flash")};
  if (f.core(19) && !NamesFlashVersion(f)) patch.push_back(Assign(K::flash_attention_version, 3));
  return {patch};
}

// The layers that training uses; what only the others know goes with them.
std::vector<Patch> TrainingLayers(F f) {
  Patch patch = {Assign(K::transformer_impl, "transformer_engine")};
  for (const K name : {K::inference_fuse_tp_communication, K::inference_disable_triton_nvls_kernels}) {
    if (f.on(name)) patch.push_back(Assign(name, false));
  }
  return {patch};
}

constexpr StaticFixes kInvariantOff = {{{K::batch_invariant_mode, false}}};

const Rule kRules[] = {
    {.id = "inference-layers.moe-no-etp",
     .area = "inference",
     TRANSFORMER_CONFIG(1599),
     .core = {.since = 17},
     .reads = {K::transformer_impl, K::num_moe_experts, K::expert_tensor_parallel_size},
     .when = [](F f) { return InferenceMoe(f) && f.num(K::expert_tensor_parallel_size) > 1; },
     .needs = "inference-optimized MoE layers do not split an expert over ranks",
     .fix = TrainingLayers},
    {.id = "inference-layers.moe-dropless",
     .area = "inference",
     TRANSFORMER_CONFIG(1603),
     .core = {.since = 17},
     .reads = {K::transformer_impl, K::num_moe_experts, K::moe_expert_capacity_factor},
     .when = [](F f) { return InferenceMoe(f) && f.set(K::moe_expert_capacity_factor); },
     .needs = "inference-optimized MoE layers drop no tokens",
     .fix = TrainingLayers},
    {.id = "inference-layers.moe-no-padding",
     .area = "inference",
     TRANSFORMER_CONFIG(1605),
     .core = {.since = 17},
     .reads = {K::transformer_impl, K::num_moe_experts, K::moe_router_padding_for_quantization},
     .when = [](F f) { return InferenceMoe(f) && f.on(K::moe_router_padding_for_quantization); },
     .needs = "inference-optimized MoE layers take no routing map padded for quantization",
     .fix = TrainingLayers},
    {.id = "inference-layers.moe-router-fp32",
     .area = "inference",
     TRANSFORMER_CONFIG(1610),
     .core = {.since = 17},
     .reads = {K::transformer_impl, K::num_moe_experts, K::moe_router_dtype},
     .when = [](F f) { return InferenceMoe(f) && !f.is(K::moe_router_dtype, "fp32"); },
     .needs = "inference-optimized MoE layers need moe_router_dtype fp32",
     .fixes = {{{K::moe_router_dtype, "fp32"}}},
     .fix = TrainingLayers},
    {.id = "inference-layers.moe-gated",
     .area = "inference",
     TRANSFORMER_CONFIG(1618),
     .core = {.since = kMain},
     .reads = {K::transformer_impl, K::num_moe_experts, K::gated_linear_unit, K::inference_grouped_gemm_backend},
     .when =
         [](F f) {
           return InferenceMoe(f) && f.on(K::gated_linear_unit) &&
                  !f.in(K::inference_grouped_gemm_backend, {"torch", "vllm"});
         },
     .needs = "inference-optimized MoE layers run gated units with inference_grouped_gemm_backend torch or vllm only",
     .fixes = {{{K::inference_grouped_gemm_backend, "vllm"}}},
     .fix = TrainingLayers},
    {.id = "inference-layers.moe-gated",
     .area = "inference",
     OLDER_TRANSFORMER_CONFIG("0.19.0", 1489, 1618),
     .core = {.since = 18, .until = 19},
     .reads = {K::transformer_impl, K::num_moe_experts, K::gated_linear_unit},
     .when = [](F f) { return InferenceMoe(f) && f.on(K::gated_linear_unit); },
     .needs = "inference-optimized MoE layers do not know gated units",
     .fix = TrainingLayers},
    {.id = "inference-layers.moe-gated",
     .area = "inference",
     OLDER_TRANSFORMER_CONFIG("0.17.1", 1201, 1618),
     .core = {17, 17},
     .reads = {K::transformer_impl, K::num_moe_experts, K::gated_linear_unit, K::cuda_graph_impl},
     .when = [](F f) { return InferenceMoe(f) && f.on(K::gated_linear_unit) && f.is(K::cuda_graph_impl, "local"); },
     .needs = "inference-optimized MoE layers do not capture gated units in CUDA graphs",
     .fixes = {{{K::cuda_graph_impl, "none"}}},
     .fix = TrainingLayers},
    {.id = "inference-layers.model",
     .area = "inference",
     TRANSFORMER_CONFIG(3155),
     .core = {.since = 16},
     .reads = {K::transformer_impl, K::normalization, K::layernorm_zero_centered_gamma, K::add_bias_linear,
               K::add_qkv_bias, K::use_kitchen},
     .when =
         [](F f) {
           return InferenceLayers(f) && (!f.is(K::normalization, "RMSNorm") || f.on(K::layernorm_zero_centered_gamma) ||
                                         f.on(K::add_bias_linear) || f.on(K::add_qkv_bias) || f.on(K::use_kitchen));
         },
     .needs = "inference-optimized layers need RMSNorm without a zero-centred gamma, no biases and no Kitchen",
     .fix = TrainingLayers},
    {.id = "inference-layers.fused-tp",
     .area = "inference",
     TRANSFORMER_CONFIG(3179),
     .core = {.since = 16},
     .reads = {K::inference_fuse_tp_communication, K::transformer_impl},
     .when = [](F f) { return f.on(K::inference_fuse_tp_communication) && !InferenceLayers(f); },
     .needs = "inference_fuse_tp_communication is for transformer_impl inference_optimized",
     .fixes = {{{K::inference_fuse_tp_communication, false}}}},
    {.id = "inference-layers.fused-tp-dense",
     .area = "inference",
     TRANSFORMER_CONFIG(3184),
     .core = {.since = 17},
     .reads = {K::inference_fuse_tp_communication, K::transformer_impl, K::num_moe_experts},
     .when =
         [](F f) {
           return f.on(K::inference_fuse_tp_communication) && InferenceLayers(f) && f.set(K::num_moe_experts);
         },
     .needs = "inference_fuse_tp_communication does not know MoE models",
     .fixes = {{{K::inference_fuse_tp_communication, false}}}},
    {.id = "inference-layers.nvls",
     .area = "inference",
     TRANSFORMER_CONFIG(3188),
     .core = {.since = 17},
     .reads = {K::inference_disable_triton_nvls_kernels, K::transformer_impl},
     .when = [](F f) { return f.on(K::inference_disable_triton_nvls_kernels) && !InferenceLayers(f); },
     .needs = "inference_disable_triton_nvls_kernels is for transformer_impl inference_optimized",
     .fixes = {{{K::inference_disable_triton_nvls_kernels, false}}}},
    {.id = "batch-invariant.bf16",
     .area = "batch-invariant",
     TRANSFORMER_CONFIG(3212),
     .core = {.since = kMain},
     .reads = {K::batch_invariant_mode, K::params_dtype},
     .when = [](F f) { return Invariant(f) && !f.is(K::params_dtype, "bf16"); },
     .needs = "batch-invariant kernels are written for BF16 parameters",
     .fixes = kInvariantOff},
    {.id = "batch-invariant.flash-attention",
     .area = "batch-invariant",
     TRANSFORMER_CONFIG(3216),
     .core = {.since = 16},
     .reads = {K::batch_invariant_mode, K::attention_backend},
     .when = [](F f) { return Invariant(f) && !f.is(K::attention_backend, "flash"); },
     .needs = "batch_invariant_mode needs attention_backend flash",
     .fixes = kInvariantOff,
     .fix = FlashAttention},
    {.id = "batch-invariant.flash-version",
     .area = "batch-invariant",
     TRANSFORMER_CONFIG(3223),
     .core = {.since = 19},
     .reads = {K::batch_invariant_mode, K::flash_attention_version},
     .when = [](F f) { return Invariant(f) && !NamesFlashVersion(f); },
     .needs = "training and inference run the same kernel only where flash_attention_version names it: 3 or 4",
     .fixes = {{{K::flash_attention_version, 3}}, {{K::batch_invariant_mode, false}}}},
    {.id = "batch-invariant.no-cp",
     .area = "batch-invariant",
     TRANSFORMER_CONFIG(3230),
     .core = {.since = 19},
     .reads = {K::batch_invariant_mode, K::context_parallel_size},
     .when = [](F f) { return Invariant(f) && f.num(K::context_parallel_size) != 1; },
     .needs = "context parallelism runs attention kernels that are not batch-invariant",
     .fixes = kInvariantOff},
    {.id = "batch-invariant.no-attention-dropout",
     .area = "batch-invariant",
     TRANSFORMER_CONFIG(3233),
     .core = {.since = 19},
     .reads = {K::batch_invariant_mode, K::attention_dropout},
     .when = [](F f) { return Invariant(f) && f.real(K::attention_dropout) != 0.0; },
     .needs = "attention dropout is not batch-invariant",
     .fixes = kInvariantOff},
    {.id = "batch-invariant.moe-alltoall",
     .area = "batch-invariant",
     TRANSFORMER_CONFIG(3241),
     .core = {.since = kMain},
     .reads = {K::batch_invariant_mode, K::num_moe_experts, K::transformer_impl, K::moe_token_dispatcher_type},
     .when =
         [](F f) { return InvariantMoe(f) && !InferenceLayers(f) && !f.is(K::moe_token_dispatcher_type, "alltoall"); },
     .needs = "batch-invariant training of MoE layers needs moe_token_dispatcher_type alltoall",
     .fixes = kInvariantOff},
    {.id = "batch-invariant.moe-bf16",
     .area = "batch-invariant",
     TRANSFORMER_CONFIG(3261),
     .core = {.since = kMain},
     .reads = {K::batch_invariant_mode, K::num_moe_experts, K::fp8, K::fp4},
     .when = [](F f) { return InvariantMoe(f) && (f.on(K::fp8) || f.on(K::fp4)); },
     .needs = "batch-invariant MoE layers run in BF16 only",
     .fixes = kInvariantOff},
    {.id = "batch-invariant.moe-unfused-permute",
     .area = "batch-invariant",
     TRANSFORMER_CONFIG(3264),
     .core = {.since = kMain},
     .reads = {K::batch_invariant_mode, K::num_moe_experts, K::moe_permute_fusion, K::moe_permute_fusion_into_hybridep},
     .when =
         [](F f) {
           return InvariantMoe(f) && (f.on(K::moe_permute_fusion) || f.on(K::moe_permute_fusion_into_hybridep));
         },
     .needs = "fused permutation adds the experts' outputs in no fixed order",
     .fixes = {{{K::moe_permute_fusion, false}, {K::moe_permute_fusion_into_hybridep, false}},
               {{K::batch_invariant_mode, false}}}},
    {.id = "batch-invariant.moe-no-padding",
     .area = "batch-invariant",
     TRANSFORMER_CONFIG(3268),
     .core = {.since = kMain},
     .reads = {K::batch_invariant_mode, K::num_moe_experts, K::moe_pad_expert_input_to_capacity,
               K::moe_pad_experts_for_cuda_graph_inference},
     .when =
         [](F f) {
           return InvariantMoe(f) &&
                  (f.on(K::moe_pad_expert_input_to_capacity) || f.on(K::moe_pad_experts_for_cuda_graph_inference));
         },
     .needs = "batch-invariant MoE layers take no padded experts",
     .fixes = kInvariantOff},
    {.id = "mla.cached-latents-no-rope-fusion",
     .area = "inference",
     MLA_TRANSFORMER_CONFIG(3352),
     .core = {.since = 16},
     .reads = {K::cache_mla_latents, K::apply_rope_fusion},
     .when = [](F f) { return f.env().mla && f.on(K::cache_mla_latents) && f.on(K::apply_rope_fusion); },
     .needs = "MLA with cached latents turns positions without the fused kernel",
     .fixes = {{{K::apply_rope_fusion, false}}, {{K::cache_mla_latents, false}}}},
};

}  // namespace

RuleList CoreInferenceRules() { return kRules; }

}  // namespace flightplan
