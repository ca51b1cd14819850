// Fused kernels: cross entropy, bias + activation, residual + norm, rotary embedding.
#include "resolver/rules/core/upstream.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

const Rule kRules[] = {
    {.id = "ce-fusion.te-unstable",
     .area = "fusion",
     .kind = Kind::kWarning,
     MODEL_PARALLEL_CONFIG(537),
     .core = {.since = 18},
     .reads = {K::cross_entropy_loss_fusion, K::cross_entropy_fusion_impl},
     .when = [](F f) { return f.on(K::cross_entropy_loss_fusion) && f.is(K::cross_entropy_fusion_impl, "te"); },
     .needs = "Transformer Engine's fused cross entropy is known to be unstable; Megatron-LM's command line refuses it",
     .fixes = {{{K::cross_entropy_fusion_impl, "native"}}}},
    {.id = "fusion.bias-act-func",
     .area = "fusion",
     TRANSFORMER_CONFIG(2422),
     .reads = {K::bias_activation_fusion, K::activation_func},
     .when =
         [](F f) {
           return f.on(K::bias_activation_fusion) && !f.in(K::activation_func, {"gelu", "silu", "quick_gelu"});
         },
     .needs = "bias and activation fuse for gelu, silu and quick_gelu only",
     .fixes = {{{K::bias_activation_fusion, false}}}},
    {.id = "fusion.bias-act-gelu-needs-bias",
     .area = "fusion",
     TRANSFORMER_CONFIG(2431),
     .reads = {K::bias_activation_fusion, K::activation_func, K::gated_linear_unit, K::add_bias_linear},
     .when =
         [](F f) {
           return f.on(K::bias_activation_fusion) && f.is(K::activation_func, "gelu") && !f.on(K::gated_linear_unit) &&
                  !f.on(K::add_bias_linear);
         },
     .needs = "fused ungated gelu needs a bias to fuse",
     .fixes = {{{K::bias_activation_fusion, false}}}},
    {.id = "fusion.bias-act-quick-gelu-gated",
     .area = "fusion",
     TRANSFORMER_CONFIG(2436),
     .reads = {K::bias_activation_fusion, K::activation_func, K::gated_linear_unit},
     .when =
         [](F f) {
           return f.on(K::bias_activation_fusion) && f.is(K::activation_func, "quick_gelu") &&
                  !f.on(K::gated_linear_unit);
         },
     .needs = "fused quick_gelu exists in the gated form only",
     .fixes = {{{K::bias_activation_fusion, false}}}},
    {.id = "fusion.bias-act-glu-offset",
     .area = "fusion",
     TRANSFORMER_CONFIG(2441),
     .reads = {K::bias_activation_fusion, K::glu_linear_offset, K::activation_func},
     .when =
         [](F f) {
           return f.on(K::bias_activation_fusion) && f.real(K::glu_linear_offset) != 0.0 &&
                  !f.is(K::activation_func, "quick_gelu");
         },
     .needs = "a fused activation with glu_linear_offset exists for quick_gelu only",
     .fixes = {{{K::bias_activation_fusion, false}}}},
    {.id = "fusion.bias-act-vs-te-act",
     .area = "fusion",
     TRANSFORMER_CONFIG(2447),
     .reads = {K::bias_activation_fusion, K::use_te_activation_func},
     .when = [](F f) { return f.on(K::bias_activation_fusion) && f.on(K::use_te_activation_func); },
     .needs = "one of bias_activation_fusion and use_te_activation_func",
     .fixes = {{{K::use_te_activation_func, false}}, {{K::bias_activation_fusion, false}}}},
    {.id = "fusion.residual-rmsnorm",
     .area = "fusion",
     TRANSFORMER_CONFIG(2455),
     .core = {.since = 17},
     .reads = {K::fused_residual_rmsnorm, K::normalization},
     .when = [](F f) { return f.on(K::fused_residual_rmsnorm) && !f.is(K::normalization, "RMSNorm"); },
     .needs = "the fused residual norm exists for RMSNorm only",
     .fixes = {{{K::fused_residual_rmsnorm, false}}}},
    {.id = "fusion.te-act-func",
     .area = "fusion",
     TRANSFORMER_CONFIG(2461),
     .reads = {K::use_te_activation_func, K::activation_func},
     .when =
         [](F f) {
           return f.on(K::use_te_activation_func) && !f.in(K::activation_func, {"gelu", "silu", "relu"});
         },
     .needs = "Transformer Engine has gelu, silu and relu activations",
     .fixes = {{{K::use_te_activation_func, false}}}},
    {.id = "rope-fusion.mla-experimental",
     .area = "fusion",
     .kind = Kind::kWarning,
     TRANSFORMER_CONFIG(2500),
     .reads = {K::apply_rope_fusion, K::multi_latent_attention},
     .when = [](F f) { return f.on(K::apply_rope_fusion) && f.on(K::multi_latent_attention); },
     .needs = "fused RoPE for multi-latent attention is experimental and for training only"},
    {.id = "rope-fusion.interleaved-te-2.3",
     .area = "version-gate",
     TRANSFORMER_CONFIG(2507),
     .reads = {K::apply_rope_fusion, K::rotary_interleaved},
     .reads_env = {"te"},
     .when =
         [](F f) {
           return f.on(K::apply_rope_fusion) && !f.on(K::multi_latent_attention) && f.on(K::rotary_interleaved) &&
                  !f.te_at_least("2.3.0");
         },
     .needs = "fused interleaved RoPE needs Transformer Engine 2.3.0",
     .fixes = {{{K::apply_rope_fusion, false}}}},
    {.id = "rope-fusion.te-missing",
     .area = "version-gate",
     TRANSFORMER_CONFIG(2518),
     .reads = {K::apply_rope_fusion},
     .reads_env = {"te"},
     .when =
         [](F f) { return f.on(K::apply_rope_fusion) && !f.on(K::multi_latent_attention) && !f.te_at_least("1.4.0"); },
     .needs = "fused RoPE needs Transformer Engine 1.4",
     .fixes = {{{K::apply_rope_fusion, false}}}},
    {.id = "fusion.qkv-rope-vs-gate",
     .area = "fusion",
     TRANSFORMER_CONFIG(2524),
     .core = {.since = 16},
     .reads = {K::fused_single_qkv_rope, K::attention_output_gate},
     .when = [](F f) { return f.on(K::fused_single_qkv_rope) && f.on(K::attention_output_gate); },
     .needs = "the fused single-QKV RoPE has no gated attention",
     .fixes = {{{K::fused_single_qkv_rope, false}}}},
    {.id = "symmetric-ar.versions",
     .area = "tp-overlap",
     TRANSFORMER_CONFIG(3133),
     .reads = {K::symmetric_ar_type},
     .reads_env = {"te", "torch"},
     .when =
         [](F f) { return f.set(K::symmetric_ar_type) && (!f.torch_at_least("2.7.0a0") || !f.te_at_least("2.3.0")); },
     .needs = "symmetric all-reduce needs PyTorch 2.7 and Transformer Engine 2.3",
     .fixes = {{{K::symmetric_ar_type, kUnset}}}},
};

}  // namespace

RuleList CoreFusionRules() { return kRules; }

}  // namespace flightplan
