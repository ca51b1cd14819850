// Rows of families with latent attention (MLA) and experts: DeepSeek, Kimi and GLM. What HfRow and HfDerivation mean is
// said in hf_families.h.
#pragma once

#include "resolver/normalize/hf_families.h"

namespace flightplan {

inline constexpr HfDerivation kLatentMoe[] = {hf::Latent, hf::FirstLayersDense, hf::SharedExperts};
inline constexpr HfRow kDeepSeekV2[] = {{"moe_router_score_function", "scoring_func", "softmax"},
                                        {"tie_embeddings", "", "false"},
                                        {"moe_router_pre_softmax", "", "true"},
                                        {"moe_router_load_balancing_type", "", "seq_aux_loss"},
                                        {"moe_router_dtype", "", "fp32"},
                                        {"make_vocab_size_divisible_by", "", "3200"},
                                        {"first_k_dense", "first_k_dense_replace", kRequired}};
inline constexpr HfRow kDeepSeekV3[] = {{"layernorm_epsilon", "rms_norm_eps", "1e-6"},
                                        {"tie_embeddings", "", "false"},
                                        {"moe_router_pre_softmax", "", "true"},
                                        {"moe_router_load_balancing_type", "", "seq_aux_loss"},
                                        {"moe_router_dtype", "", "fp32"},
                                        {"make_vocab_size_divisible_by", "", "1280"},
                                        {"moe_router_score_function", "", "sigmoid"},
                                        {"moe_router_enable_expert_bias", "", "true"},
                                        {"moe_aux_loss_coeff", "aux_loss_alpha|router_aux_loss_coef", "0.0001"},
                                        {"first_k_dense", "first_k_dense_replace", kRequired}};
inline constexpr HfRow kKimiK2[] = {{"tie_embeddings", "", "false"},
                                    {"moe_router_pre_softmax", "", "true"},
                                    {"moe_router_load_balancing_type", "", "seq_aux_loss"},
                                    {"moe_router_dtype", "", "fp32"},
                                    {"make_vocab_size_divisible_by", "", "1280"},
                                    {"moe_router_enable_expert_bias", "", "true"},
                                    {"moe_aux_loss_coeff", "", "1e-3"},
                                    {"first_k_dense", "first_k_dense_replace", kRequired}};
inline constexpr HfRow kGlm47Flash[] = {{"tie_embeddings", "", "false"},
                                        {"moe_router_pre_softmax", "", "true"},
                                        {"moe_router_load_balancing_type", "", "seq_aux_loss"},
                                        {"moe_router_dtype", "", "fp32"},
                                        {"moe_router_score_function", "", "sigmoid"},
                                        {"moe_router_enable_expert_bias", "", "true"},
                                        {"moe_router_bias_update_rate", "", "0.0"},
                                        {"moe_aux_loss_coeff", "", "0.001"},
                                        {"mtp_loss_scaling_factor", "", "0.3"},
                                        {"first_k_dense", "first_k_dense_replace", "1"}};
inline constexpr HfDerivation kDeepSeekV32Derivations[] = {hf::Latent, hf::SparseIndexer, hf::FirstLayersDense,
                                                           hf::SharedExperts};
inline constexpr HfRow kGlm5[] = {{"tie_embeddings", "", "false"},
                                  {"moe_router_pre_softmax", "", "true"},
                                  {"moe_router_load_balancing_type", "", "seq_aux_loss"},
                                  {"moe_router_dtype", "", "fp32"},
                                  {"moe_router_score_function", "", "sigmoid"},
                                  {"moe_router_enable_expert_bias", "", "true"},
                                  {"make_vocab_size_divisible_by", "", "1280"},
                                  {"num_moe_experts", "n_routed_experts|num_experts", kRequired},
                                  {"dsa_indexer_rotate_activation", "", "false"},
                                  {"dsa_indexer_k_norm_epsilon", "", "1e-6"},
                                  {"dsa_indexer_loss_coeff", "", "0.001"},
                                  {"dsa_indexer_use_sparse_loss", "", "true"},
                                  {"dsa_indexer_rope_interleaved", "indexer_rope_interleave", "false"},
                                  {"dsa_indexer_topk_freq", "index_topk_freq", "1"},
                                  {"dsa_indexer_skip_topk_offset", "index_skip_topk_offset", "0"},
                                  {"first_k_dense", "first_k_dense_replace", kRequired}};
inline constexpr HfDerivation kGlm5Derivations[] = {hf::Latent, hf::GlmHeadSizes, hf::SparseIndexer,
                                                    hf::FirstLayersDense, hf::SharedExperts};
inline constexpr HfRow kDeepSeekV4[] = {{"attention", "", "csa-hybrid"},
                                        {"qk_layernorm", "", "true"},
                                        {"qk_layernorm_kind", "", "mla_latent"},
                                        {"rotary_percent", "", "1.0"},
                                        {"moe_router_pre_softmax", "", "false"},
                                        {"moe_router_enable_expert_bias", "", "true"},
                                        {"moe_router_dtype", "", "fp32"},
                                        {"moe_aux_loss_coeff", "", "0.0"},
                                        {"make_vocab_size_divisible_by", "", "1280"},
                                        {"kv_channels", "head_dim", kRequired},
                                        {"v_head_dim", "head_dim", kRequired},
                                        {"qk_pos_emb_head_dim", "qk_rope_head_dim", kRequired},
                                        {"o_groups", "o_groups", kRequired},
                                        {"o_lora_rank", "o_lora_rank", kRequired},
                                        {"csa_window_size", "sliding_window", kRequired},
                                        {"csa_compress_rotary_base", "compress_rope_theta|rope_theta", "10000"},
                                        {"num_residual_streams", "hc_mult", kRequired},
                                        {"mhc_sinkhorn_iterations", "hc_sinkhorn_iters", kRequired},
                                        {"moe_n_hash_layers", "num_hash_layers", kRequired},
                                        {"activation_func_clamp_value", "swiglu_limit", "10.0"},
                                        {"moe_router_score_function", "scoring_func", kRequired}};
inline constexpr HfDerivation kDeepSeekV4Derivations[] = {hf::EveryLayerMoe, hf::SharedExperts, hf::DeepSeekV4};
inline constexpr HfRow kMistral4[] = {{"layernorm_epsilon", "rms_norm_eps", "1e-6"},
                                      {"moe_router_score_function", "", "softmax"},
                                      {"moe_router_pre_softmax", "", "false"},
                                      {"first_k_dense", "first_k_dense_replace", "0"}};

}  // namespace flightplan
