// Rows of families whose layers are of several kinds: linear attention or Mamba beside attention. What HfRow and
// HfDerivation mean is said in hf_families.h.
#pragma once

#include "resolver/normalize/hf_families.h"

namespace flightplan {

inline constexpr HfRow kQwenHybridDense[] = {{"attention", "", "linear-hybrid"},
                                             {"qk_layernorm", "", "true"},
                                             {"qk_layernorm_kind", "", "per_head"},
                                             {"layernorm_zero_centered_gamma", "", "true"},
                                             {"attention_output_gate", "", "true"},
                                             {"rotary_percent", kPartialRotary, "0.25"},
                                             {"linear_conv_kernel_dim", "linear_conv_kernel_dim", "4"},
                                             {"linear_key_head_dim", "linear_key_head_dim", "128"},
                                             {"linear_value_head_dim", "linear_value_head_dim", "128"},
                                             {"linear_num_key_heads", "linear_num_key_heads", "16"},
                                             {"linear_num_value_heads", "linear_num_value_heads", "32"},
                                             {"layernorm_epsilon", "rms_norm_eps", "1e-6"}};
inline constexpr HfDerivation kLinearLayers[] = {hf::LinearLayers};
inline constexpr HfRow kQwenHybrid[] = {
    {"layernorm_epsilon", "rms_norm_eps", "1e-6"},
    {"rotary_percent", kPartialRotary, "0.25"},
    {"moe_router_score_function", "", "softmax"},
    {"attention", "", "linear-hybrid"},
    {"qk_layernorm", "", "true"},
    {"qk_layernorm_kind", "", "per_head"},
    {"layernorm_zero_centered_gamma", "", "true"},
    {"attention_output_gate", "", "true"},
    {"moe_router_load_balancing_type", "", "global_aux_loss"},
    {"moe_router_pre_softmax", "", "false"},
    {"moe_shared_expert_gate", "", "true"},
    {"moe_aux_loss_coeff", "", "1e-3"},
    {"moe_router_dtype", "", "fp32"},
    {"linear_conv_kernel_dim", "linear_conv_kernel_dim", "4"},
    {"linear_key_head_dim", "linear_key_head_dim", "128"},
    {"linear_value_head_dim", "linear_value_head_dim", "128"},
    {"linear_num_key_heads", "linear_num_key_heads", "16"},
    {"linear_num_value_heads", "linear_num_value_heads", "32"},
    {"moe_shared_expert_intermediate_size", "shared_expert_intermediate_size", "", true}};
inline constexpr HfDerivation kQwenHybridDerivations[] = {hf::OnlyMoeLayers, hf::LinearLayers};
inline constexpr HfRow kNemotronH[] = {
    {"attention", "", "mamba-hybrid"},
    {"position_embedding_type", "", "none"},
    {"activation", "", "squared_relu"},
    {"gated_linear_unit", "", "false"},
    {"mamba_head_dim", "mamba_head_dim", "64"},
    {"mamba_num_heads", "mamba_num_heads", kRequired},
    {"mamba_chunk_size", "chunk_size", "128"},
    {"mamba_num_groups", "n_groups", "8"},
    {"mamba_state_dim", "ssm_state_size", "128"},
    {"mamba_conv_kernel", "conv_kernel", "4"},
    {"fp32_residual_connection", "residual_in_fp32", "false"},
    {"add_bias_linear", "use_bias", "false"},
    {"layernorm_epsilon", "layer_norm_epsilon|rms_norm_eps|norm_eps", "1e-5"},
    {"kv_channels", "head_dim|attention_head_dim"},
    {"moe_shared_expert_intermediate_size", "moe_shared_expert_intermediate_size", "", true},
    {"moe_latent_size", "moe_latent_size"}};
inline constexpr HfDerivation kNemotronHDerivations[] = {hf::NemotronHybrid};
inline constexpr HfRow kKimiHybrid[] = {{"position_embedding_type", "", "none"},
                                        {"moe_router_pre_softmax", "", "true"},
                                        {"moe_router_enable_expert_bias", "", "true"},
                                        {"moe_router_bias_update_rate", "", "0.0"},
                                        {"moe_router_load_balancing_type", "", "none"},
                                        {"moe_aux_loss_coeff", "", "0.0"},
                                        {"moe_router_topk", "num_experts_per_token", kRequired},
                                        {"moe_router_score_function", "moe_router_activation_func", kRequired},
                                        {"first_k_dense", "first_k_dense_replace", kRequired}};
inline constexpr HfDerivation kKimiLinearDerivations[] = {hf::Latent, hf::KimiHybrid};
inline constexpr HfDerivation kKimiK3Derivations[] = {hf::Latent, hf::KimiHybrid, hf::KimiK3};
inline constexpr HfRow kGraniteHybrid[] = {{"attention", "", "mamba-hybrid"},
                                           {"layernorm_epsilon", "rms_norm_eps", "1e-6"},
                                           {"mamba_num_heads", "mamba_n_heads", "128"},
                                           {"mamba_num_groups", "mamba_n_groups", "1"},
                                           {"mamba_state_dim", "mamba_d_state", "256"},
                                           {"mamba_conv_kernel", "mamba_d_conv", "4"},
                                           {"mamba_chunk_size", "mamba_chunk_size", "256"},
                                           {"moe_router_score_function", "", "softmax"},
                                           {"moe_router_pre_softmax", "", "false"},
                                           {"moe_aux_loss_coeff", "router_aux_loss_coef", "0.001"}};
inline constexpr HfDerivation kGraniteHybridDerivations[] = {hf::GraniteHybrid};

}  // namespace flightplan
