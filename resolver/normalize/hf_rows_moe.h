// Rows of families with experts and grouped-query attention. What HfRow and HfDerivation mean is said in hf_families.h.
#pragma once

#include "resolver/normalize/hf_families.h"

namespace flightplan {

inline constexpr HfDerivation kMoeEverywhere[] = {hf::OnlyMoeLayers, hf::NormalizedTopk};
inline constexpr HfDerivation kAllMoe[] = {hf::EveryLayerMoe};
inline constexpr HfRow kQwen3Moe[] = {
    {"layernorm_epsilon", "rms_norm_eps", "1e-6"},
    {"moe_router_score_function", "", "softmax"},
    {"add_qkv_bias", "", "false"},
    {"qk_layernorm", "", "true"},
    {"qk_layernorm_kind", "", "per_head"},
    {"moe_router_load_balancing_type", "", "aux_loss"},
    {"moe_aux_loss_coeff", "", "1e-3"},
    {"moe_shared_expert_intermediate_size", "shared_expert_intermediate_size", "", true}};
inline constexpr HfRow kQwen2Moe[] = {
    {"layernorm_epsilon", "rms_norm_eps", "1e-6"},
    {"moe_router_score_function", "", "softmax"},
    {"moe_shared_expert_intermediate_size", "shared_expert_intermediate_size", "5632"},
    {"moe_shared_expert_gate", "", "true"},
    {"add_qkv_bias", "qkv_bias", "true"},
    {"moe_router_load_balancing_type", "", "aux_loss"}};
inline constexpr HfRow kGlm45[] = {{"tie_embeddings", "", "false"},
                                   {"moe_router_load_balancing_type", "", "seq_aux_loss"},
                                   {"moe_router_pre_softmax", "", "false"},
                                   {"moe_router_score_function", "", "sigmoid"},
                                   {"moe_router_enable_expert_bias", "", "true"},
                                   {"moe_router_dtype", "", "fp32"},
                                   {"moe_router_bias_update_rate", "", "0.0"},
                                   {"moe_aux_loss_coeff", "", "0.001"},
                                   {"mtp_loss_scaling_factor", "", "0.3"},
                                   {"moe_router_num_groups", "", "null"},
                                   {"moe_router_group_topk", "", "null"},
                                   {"first_k_dense", "first_k_dense_replace", kRequired}};
inline constexpr HfDerivation kGlm45Derivations[] = {hf::FirstLayersDense, hf::SharedLikeRouted};
inline constexpr HfRow kGptOss[] = {{"moe_router_score_function", "", "softmax"},
                                    {"add_bias_linear", "", "true"},
                                    {"tie_embeddings", "", "false"},
                                    {"moe_router_pre_softmax", "", "false"},
                                    {"moe_router_load_balancing_type", "", "none"},
                                    {"activation", "", "swiglu_oai"},
                                    {"activation_func_clamp_value", "", "7.0", false, "swiglu_limit"},
                                    {"glu_linear_offset", "", "1.0"},
                                    {"softmax_type", "", "learnable"},
                                    {"window_attn_skip_freq", "", "2"},
                                    {"add_qkv_bias", "attention_bias", "true"},
                                    {"attn_out_bias", "", "true"},
                                    {"expert_bias_terms", "", "true"},
                                    {"router_bias", "", "true"},
                                    {"attention", "", "gqa+sliding"},
                                    {"window_size", "sliding_window", kRequired},
                                    {"moe_ffn_hidden_size", "intermediate_size", kRequired}};
inline constexpr HfRow kOlmoe[] = {
    {"qk_layernorm", "", "true"},           {"qk_layernorm_kind", "", "full_dim"},
    {"tie_embeddings", "", "false"},        {"moe_router_load_balancing_type", "", "seq_aux_loss"},
    {"moe_router_pre_softmax", "", "true"}, {"moe_router_score_function", "", "softmax"},
    {"moe_router_dtype", "", "fp32"},       {"moe_ffn_hidden_size", "intermediate_size", kRequired}};
inline constexpr HfDerivation kOlmoeDerivations[] = {hf::EveryLayerMoe, hf::SoftmaxScoringOnly};
inline constexpr HfRow kMiniMaxM2[] = {{"layernorm_epsilon", "rms_norm_eps", "1e-6"},
                                       {"add_qkv_bias", "", "false"},
                                       {"qk_layernorm", "", "true"},
                                       {"qk_layernorm_kind", "", "full_dim"},
                                       {"moe_router_pre_softmax", "", "false"},
                                       {"moe_router_load_balancing_type", "", "aux_loss"},
                                       {"moe_router_score_function", "", "sigmoid"},
                                       {"moe_router_enable_expert_bias", "", "true", false, "use_routing_bias"},
                                       {"moe_aux_loss_coeff", "router_aux_loss_coef", "1e-3"},
                                       {"moe_ffn_hidden_size", "moe_intermediate_size|intermediate_size", kRequired}};
inline constexpr HfDerivation kMiniMaxM2Derivations[] = {hf::EveryLayerMoe, hf::RotaryDimension};
inline constexpr HfRow kMiniMaxM3[] = {{"attention", "", "gqa+block-sparse"},
                                       {"add_qkv_bias", "", "false"},
                                       {"activation", "", "swiglu_oai"},
                                       {"gated_linear_unit", "", "true"},
                                       {"glu_linear_offset", "", "1.0"},
                                       {"mtp_num_layers", "", "null"},
                                       {"moe_router_pre_softmax", "", "false"},
                                       {"moe_router_score_function", "", "sigmoid"},
                                       {"moe_router_enable_expert_bias", "", "true"},
                                       {"moe_router_dtype", "", "fp32"},
                                       {"moe_router_load_balancing_type", "", "aux_loss"},
                                       {"layernorm_zero_centered_gamma", "use_gemma_norm", "true"},
                                       {"qk_layernorm", "use_qk_norm", "true"},
                                       {"activation_func_clamp_value", "swiglu_limit", "7.0"},
                                       {"moe_ffn_hidden_size", "intermediate_size", kRequired},
                                       {"ffn_hidden_size", "dense_intermediate_size|intermediate_size", kRequired},
                                       {"moe_aux_loss_coeff", "router_aux_loss_coef", "1e-3"},
                                       {"moe_router_topk_scaling_factor", "routed_scaling_factor", "1.0"},
                                       {"index_n_heads", "sparse_attention_config.sparse_num_index_heads", "4"},
                                       {"index_head_dim", "sparse_attention_config.sparse_index_dim", "128"}};
inline constexpr HfDerivation kMiniMaxM3Derivations[] = {hf::RotaryDimension, hf::MiniMaxM3};
inline constexpr HfRow kErnie[] = {{"add_qkv_bias", "", "false", false, "use_bias"},
                                   {"rotary_base", "", "500000"},
                                   {"rotary_interleaved", "", "true"},
                                   {"moe_router_load_balancing_type", "", "aux_loss"},
                                   {"moe_router_pre_softmax", "", "false"},
                                   {"moe_router_score_function", "", "sigmoid"},
                                   {"moe_router_enable_expert_bias", "", "true"},
                                   {"moe_router_dtype", "", "fp32"},
                                   {"mtp_num_layers", "", "null"},
                                   {"tie_embeddings", "tie_word_embeddings", "true"},
                                   {"moe_router_topk", "moe_k", "6"},
                                   {"moe_aux_loss_coeff", "router_aux_loss_coef", "0.001"}};
inline constexpr HfDerivation kErnieDerivations[] = {hf::Ernie};
inline constexpr HfRow kGemma4[] = {{"activation", "", "geglu_tanh"},
                                    {"gated_linear_unit", "", "true"},
                                    {"qk_layernorm", "", "true"},
                                    {"qk_layernorm_kind", "", "per_head"},
                                    {"tie_embeddings", "tie_word_embeddings", "true"},
                                    {"norms_per_layer", "", "4"},
                                    {"attention", "", "gqa+sliding"},
                                    {"window_attn_skip_freq", "", "6"},
                                    {"window_size", "sliding_window", "1024"},
                                    {"rotary_base", "rope_parameters.full_attention.rope_theta", "1000000"},
                                    {"make_vocab_size_divisible_by", "", "128"}};
inline constexpr HfDerivation kGemma4Derivations[] = {hf::Gemma4};
inline constexpr HfRow kMimoV2Flash[] = {{"attention", "", "gqa+sliding"},
                                         {"window_size", "sliding_window_size|sliding_window", kRequired},
                                         {"layernorm_epsilon", "layernorm_epsilon", kRequired},
                                         {"v_head_dim", "", "null"},
                                         {"moe_router_load_balancing_type", "", "none"},
                                         {"moe_router_enable_expert_bias", "", "true"},
                                         {"moe_router_pre_softmax", "", "true"}};
inline constexpr HfDerivation kMimoV2FlashDerivations[] = {hf::MiMoV2Flash};
inline constexpr HfRow kBailing[] = {
    {"layernorm_epsilon", "rms_norm_eps", "1e-6"},
    {"tie_embeddings", "", "false"},
    {"qk_layernorm", "", "true"},
    {"qk_layernorm_kind", "", "per_head"},
    {"moe_router_pre_softmax", "", "true"},
    {"moe_router_load_balancing_type", "", "none"},
    {"moe_router_score_function", "", "sigmoid", false, "score_function"},
    {"moe_router_enable_expert_bias", "", "true", false, "moe_router_enable_expert_bias"},
    {"moe_router_dtype", "", "fp32"},
    {"add_bias_linear", "", "false", false, "use_bias"},
    {"add_qkv_bias", "use_qkv_bias", "false"},
    {"first_k_dense", "first_k_dense_replace", kRequired}};
inline constexpr HfRow kMixtral[] = {{"num_query_groups", "num_key_value_heads", "8"},
                                     {"rotary_base", "rope_theta|rope_parameters.rope_theta", "1000000"},
                                     {"moe_router_score_function", "", "softmax"},
                                     {"num_moe_experts", "num_local_experts", "8"},
                                     {"moe_ffn_hidden_size", "intermediate_size", kRequired},
                                     {"moe_router_pre_softmax", "", "false"},
                                     {"moe_router_load_balancing_type", "", "aux_loss"}};
inline constexpr HfDerivation kMixtralDerivations[] = {hf::EveryLayerMoe, hf::SlidingWindow};
inline constexpr HfRow kLlama4[] = {{"attention", "", "gqa+chunked"},
                                    {"moe_ffn_hidden_size", "intermediate_size", kRequired},
                                    {"moe_shared_expert_intermediate_size", "intermediate_size", kRequired},
                                    {"ffn_hidden_size", "intermediate_size_mlp", kRequired},
                                    {"attention_chunk_size", "attention_chunk_size", kRequired},
                                    {"moe_router_score_function", "", "sigmoid"},
                                    {"moe_router_pre_softmax", "", "false"}};
inline constexpr HfDerivation kLlama4Derivations[] = {hf::Llama4};
inline constexpr HfRow kDbrx[] = {{"num_query_groups", "attn_config.kv_n_heads", kRequired},
                                  {"rotary_base", "attn_config.rope_theta", kRequired},
                                  {"ffn_hidden_size", "ffn_config.ffn_hidden_size", kRequired},
                                  {"moe_ffn_hidden_size", "ffn_config.ffn_hidden_size", kRequired},
                                  {"num_moe_experts", "ffn_config.moe_num_experts", kRequired},
                                  {"moe_router_topk", "ffn_config.moe_top_k", kRequired},
                                  {"normalization", "", "LayerNorm"},
                                  {"layernorm_no_bias", "", "true"},
                                  {"moe_router_score_function", "", "softmax"}};
// Sizes only: the file does not say which linear layers have a bias, nor the rotary base.
inline constexpr HfRow kPhiMoe[] = {{"normalization", "", "LayerNorm"},
                                    {"add_qkv_bias", "attention_bias", "null"},
                                    {"add_bias_linear", "mlp_bias", "null"},
                                    {"rotary_base", "rope_theta", "null"},
                                    {"moe_ffn_hidden_size", "intermediate_size", kRequired}};
inline constexpr HfRow kGrok1[] = {{"moe_ffn_hidden_size", "moe_intermediate_size|intermediate_size", kRequired},
                                   {"activation", "", "geglu"},
                                   {"norms_per_layer", "", "4"}};
inline constexpr HfDerivation kGrok1Derivations[] = {hf::EveryLayerMoe, hf::Grok};
inline constexpr HfRow kStep3[] = {
    {"attention", "", "mfa"},
    {"num_moe_experts", "moe_num_experts", kRequired},
    {"moe_router_topk", "moe_top_k", kRequired},
    {"mfa_q_rank", "share_q_dim", kRequired},
    {"moe_shared_expert_intermediate_size", "share_expert_dim|share_expert_dims", kRequired}};
inline constexpr HfDerivation kStep3Derivations[] = {hf::Step3};
inline constexpr HfRow kStep35[] = {
    {"attention", "", "gqa+sliding"},
    {"window_size", "sliding_window", "512"},
    {"add_qkv_bias", "", "false"},
    {"add_bias_linear", "", "false"},
    {"qk_layernorm", "use_qk_norm", "true"},
    {"qk_layernorm_kind", "", "per_head"},
    {"layernorm_zero_centered_gamma", "zero_centered", "true"},
    {"num_moe_experts", "moe_num_experts", kRequired},
    {"moe_router_topk", "moe_top_k", kRequired},
    {"moe_router_score_function", "moe_router_activation", "softmax"},
    {"moe_router_enable_expert_bias", "use_moe_router_bias", "false"},
    {"moe_router_topk_scaling_factor", "moe_router_scaling_factor"},
    {"moe_router_load_balancing_type", "", "aux_loss"},
    {"moe_aux_loss_coeff", "", "1e-3"},
    {"moe_router_pre_softmax", "", "false"},
    {"moe_shared_expert_intermediate_size", "share_expert_dim|share_expert_dims", kRequired}};
inline constexpr HfDerivation kStep35Derivations[] = {hf::Step35};
// Experts chosen as in DeepSeek-V3, without its latent attention.
inline constexpr HfDerivation kFirstDense[] = {hf::FirstLayersDense, hf::SharedExperts};
inline constexpr HfRow kDots1[] = {{"qk_layernorm", "", "true"},
                                   {"qk_layernorm_kind", "", "per_head"},
                                   {"layernorm_epsilon", "rms_norm_eps", "1e-6"},
                                   // Its file says noaux_tc there, which names the choice of experts.
                                   {"moe_router_score_function", "", "sigmoid", false, kUnchecked},
                                   {"moe_router_enable_expert_bias", "", "true"},
                                   {"first_k_dense", "first_k_dense_replace", "0"}};
inline constexpr HfRow kSolarOpen[] = {{"rotary_base", "rope_theta|rope_parameters.rope_theta", "1000000"},
                                       {"kv_channels", "head_dim", "128"},
                                       {"moe_router_score_function", "", "sigmoid"},
                                       {"moe_router_enable_expert_bias", "", "true"},
                                       {"first_k_dense", "first_k_dense_replace", "0"}};
// Experts as in DeepSeek's first MoE, scored by softmax.
inline constexpr HfRow kSoftmaxFirstDense[] = {{"layernorm_epsilon", "rms_norm_eps", "1e-6"},
                                               {"add_qkv_bias", "attention_bias|use_qkv_bias", "false"},
                                               {"moe_router_score_function", "", "softmax"},
                                               {"first_k_dense", "first_k_dense_replace", "0"}};
inline constexpr HfDerivation kSoftmaxFirstDenseDerivations[] = {hf::FirstLayersDense, hf::SharedExperts,
                                                                 hf::NormalizedTopk};
inline constexpr HfRow kHyV3[] = {{"add_qkv_bias", "", "false"},
                                  {"qk_layernorm", "", "true", false, "qk_norm"},
                                  {"qk_layernorm_kind", "", "per_head"},
                                  {"kv_channels", "head_dim", "128"},
                                  {"rotary_base", "rope_theta|rope_parameters.rope_theta", "11158840"},
                                  {"moe_router_load_balancing_type", "", "none"},
                                  {"moe_router_pre_softmax", "", "false"},
                                  {"moe_router_score_function", "", "sigmoid"},
                                  {"moe_router_enable_expert_bias", "", "true"},
                                  {"moe_router_bias_update_rate", "", "0.0"},
                                  {"moe_router_dtype", "", "fp32"},
                                  {"moe_aux_loss_coeff", "", "0.0"},
                                  {"moe_router_topk_scaling_factor", "router_scaling_factor", "2.826"},
                                  {"first_k_dense", "first_k_dense_replace", "1"}};
inline constexpr HfRow kHunyuanMoe[] = {{"qk_layernorm", "", "true"},
                                        {"qk_layernorm_kind", "", "per_head"},
                                        {"kv_channels", "head_dim|attention_head_dim"},
                                        {"moe_router_score_function", "", "softmax"},
                                        {"moe_router_pre_softmax", "", "false"}};
inline constexpr HfDerivation kHunyuanMoeDerivations[] = {hf::Hunyuan};
inline constexpr HfRow kExaoneMoe[] = {{"add_qkv_bias", "", "false"},
                                       {"qk_layernorm", "", "true"},
                                       {"qk_layernorm_kind", "", "per_head"},
                                       {"window_size", "sliding_window"},
                                       {"moe_router_score_function", "scoring_func", "sigmoid"},
                                       {"moe_router_pre_softmax", "", "true"},
                                       {"moe_router_enable_expert_bias", "", "true"},
                                       {"moe_router_load_balancing_type", "", "none"},
                                       {"moe_router_dtype", "", "fp32"},
                                       {"moe_aux_loss_coeff", "", "0.0"},
                                       {"mtp_loss_scaling_factor", "mtp_loss_scaling_factor", "0.1"},
                                       {"first_k_dense", "first_k_dense_replace", "1"}};
inline constexpr HfDerivation kWindowedFirstDense[] = {hf::FirstLayersDense, hf::SharedExperts,
                                                       hf::RotaryInWindowsAlone};
inline constexpr HfRow kAfmoe[] = {{"window_size", "sliding_window", "1024"},
                                   {"window_attn_skip_freq", "global_attn_every_n_layers", "4"},
                                   {"kv_channels", "head_dim", "128"},
                                   {"qk_layernorm", "", "true"},
                                   {"qk_layernorm_kind", "", "per_head"},
                                   {"attention_output_gate", "", "true"},
                                   {"norms_per_layer", "", "4"},
                                   {"moe_router_score_function", "score_func|scoring_func", "sigmoid"},
                                   {"moe_router_enable_expert_bias", "", "true"},
                                   {"moe_router_topk_scaling_factor", "route_scale", "1.0"},
                                   {"first_k_dense", "num_dense_layers", "1"}};
inline constexpr HfRow kSarvam[] = {{"layernorm_epsilon", "rms_norm_eps", "1e-6"},
                                    {"tie_embeddings", "", "false"},
                                    {"add_qkv_bias", "", "false"},
                                    {"qk_layernorm", "", "true"},
                                    {"qk_layernorm_kind", "", "per_head"},
                                    {"moe_router_pre_softmax", "", "true"},
                                    {"moe_router_score_function", "", "sigmoid"},
                                    {"moe_router_enable_expert_bias", "", "true"},
                                    {"moe_router_bias_update_rate", "", "1e-3"},
                                    {"moe_router_dtype", "", "fp32"},
                                    {"moe_aux_loss_coeff", "", "0.0"},
                                    {"moe_router_topk_scaling_factor", "routed_scaling_factor", "2.5"},
                                    {"make_vocab_size_divisible_by", "", "128"},
                                    {"first_k_dense", "first_k_dense_replace", kRequired}};
inline constexpr HfRow kGraniteMoe[] = {{"layernorm_epsilon", "rms_norm_eps", "1e-6"},
                                        {"moe_router_score_function", "", "softmax"},
                                        {"moe_router_pre_softmax", "", "false"},
                                        {"moe_ffn_hidden_size", "intermediate_size", kRequired},
                                        {"moe_aux_loss_coeff", "router_aux_loss_coef", "0.001"},
                                        {"moe_shared_expert_intermediate_size", "shared_intermediate_size", "", true}};

}  // namespace flightplan
