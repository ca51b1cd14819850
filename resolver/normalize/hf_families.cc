#include "resolver/normalize/hf_families.h"

namespace flightplan {
namespace {

constexpr absl::string_view kPartialRotary = "partial_rotary_factor|rope_parameters.partial_rotary_factor";

constexpr HfRow kCommon[] = {
    {"num_layers", "num_hidden_layers|n_layers", kRequired},
    {"hidden_size", "hidden_size|d_model", kRequired},
    {"ffn_hidden_size", "intermediate_size"},
    {"num_attention_heads", "num_attention_heads|n_heads", kRequired},
    {"num_query_groups", "num_key_value_heads|num_attention_groups|num_attention_heads|n_heads", kRequired},
    {"kv_channels", "head_dim"},
    {"vocab_size", "vocab_size", kRequired},
    {"max_position_embeddings", "max_position_embeddings|max_position_embedding|model_max_length|max_seq_len"},
    {"layernorm_epsilon", "rms_norm_eps", "1e-5"},
    {"init_method_std", "initializer_range", "0.02"},
    {"attention_dropout", "attention_dropout", "0.0"},
    {"hidden_dropout", "hidden_dropout", "0.0"},
    {"tie_embeddings", "tie_word_embeddings", "false"},
    {"add_qkv_bias", "attention_bias", "false"},
    {"add_bias_linear", "mlp_bias", "false"},
    {"qk_layernorm", "use_qk_norm", "false"},
    {"rotary_base", "rope_theta|rope_parameters.rope_theta", "10000"},
    {"rotary_percent", kPartialRotary, "1.0"},
    {"num_moe_experts", "num_experts|num_local_experts|n_routed_experts"},
    {"moe_router_topk", "num_experts_per_tok"},
    {"moe_ffn_hidden_size", "moe_intermediate_size"},
    {"moe_aux_loss_coeff", "aux_loss_alpha|router_aux_loss_coef"},
    {"moe_router_score_function", "scoring_func"},
    {"moe_router_num_groups", "n_group"},
    {"moe_router_group_topk", "topk_group"},
    {"moe_router_topk_scaling_factor", "routed_scaling_factor"},
    {"q_lora_rank", "q_lora_rank"},
    {"kv_lora_rank", "kv_lora_rank"},
    {"qk_head_dim", "qk_nope_head_dim"},
    {"qk_pos_emb_head_dim", "qk_rope_head_dim"},
    {"v_head_dim", "v_head_dim"},
    {"mtp_num_layers", "num_nextn_predict_layers|mtp_num_hidden_layers", "", true},
};
constexpr HfDerivation kCommonDerivations[] = {hf::Activation, hf::RopeScaling, hf::VocabularyDivisor};

// Shared by groups of families.
constexpr HfDerivation kMoeEverywhere[] = {hf::OnlyMoeLayers, hf::NormalizedTopk};
constexpr HfDerivation kLatentMoe[] = {hf::Latent, hf::FirstLayersDense, hf::SharedExperts};
constexpr HfDerivation kAllMoe[] = {hf::EveryLayerMoe};
constexpr HfDerivation kSliding[] = {hf::SlidingWindow};
constexpr absl::string_view kNoConverter =
    "Megatron-Bridge@067f987df converts no such class: the sizes hold for plans and estimates, the checkpoint needs a "
    "converter of its own";

// What transformers' classes have where a file leaves it out, as save_pretrained does.
constexpr HfRow kLlama[] = {{"layernorm_epsilon", "rms_norm_eps", "1e-6"}};
constexpr HfRow kMistral[] = {{"num_query_groups", "num_key_value_heads", "8"},
                              {"layernorm_epsilon", "rms_norm_eps", "1e-6"}};
constexpr HfRow kQwen2[] = {{"add_qkv_bias", "", "true"}, {"layernorm_epsilon", "rms_norm_eps", "1e-6"}};
constexpr HfRow kQwen3[] = {{"add_qkv_bias", "", "false"},
                            {"qk_layernorm", "", "true"},
                            {"qk_layernorm_kind", "", "per_head"},
                            {"kv_channels", "head_dim", "128"},
                            {"layernorm_epsilon", "rms_norm_eps", "1e-6"}};
constexpr HfRow kQwen3Moe[] = {{"layernorm_epsilon", "rms_norm_eps", "1e-6"},
                               {"moe_router_score_function", "", "softmax"},
                               {"add_qkv_bias", "", "false"},
                               {"qk_layernorm", "", "true"},
                               {"qk_layernorm_kind", "", "per_head"},
                               {"moe_router_load_balancing_type", "", "aux_loss"},
                               {"moe_aux_loss_coeff", "", "1e-3"},
                               {"moe_shared_expert_intermediate_size", "shared_expert_intermediate_size", "", true}};
constexpr HfRow kQwen2Moe[] = {{"layernorm_epsilon", "rms_norm_eps", "1e-6"},
                               {"moe_router_score_function", "", "softmax"},
                               {"moe_shared_expert_intermediate_size", "shared_expert_intermediate_size", "5632"},
                               {"moe_shared_expert_gate", "", "true"},
                               {"add_qkv_bias", "qkv_bias", "true"},
                               {"moe_router_load_balancing_type", "", "aux_loss"}};
constexpr HfRow kQwenHybridDense[] = {{"attention", "", "linear-hybrid"},
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
constexpr HfDerivation kLinearLayers[] = {hf::LinearLayers};
constexpr HfRow kQwenHybrid[] = {{"layernorm_epsilon", "rms_norm_eps", "1e-6"},
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
constexpr HfDerivation kQwenHybridDerivations[] = {hf::OnlyMoeLayers, hf::LinearLayers};

constexpr HfRow kDeepSeekV2[] = {{"moe_router_score_function", "scoring_func", "softmax"},
                                 {"tie_embeddings", "", "false"},
                                 {"moe_router_pre_softmax", "", "true"},
                                 {"moe_router_load_balancing_type", "", "seq_aux_loss"},
                                 {"moe_router_dtype", "", "fp32"},
                                 {"make_vocab_size_divisible_by", "", "3200"},
                                 {"first_k_dense", "first_k_dense_replace", kRequired}};
constexpr HfRow kDeepSeekV3[] = {{"layernorm_epsilon", "rms_norm_eps", "1e-6"},
                                 {"tie_embeddings", "", "false"},
                                 {"moe_router_pre_softmax", "", "true"},
                                 {"moe_router_load_balancing_type", "", "seq_aux_loss"},
                                 {"moe_router_dtype", "", "fp32"},
                                 {"make_vocab_size_divisible_by", "", "1280"},
                                 {"moe_router_score_function", "", "sigmoid"},
                                 {"moe_router_enable_expert_bias", "", "true"},
                                 {"moe_aux_loss_coeff", "aux_loss_alpha|router_aux_loss_coef", "0.0001"},
                                 {"first_k_dense", "first_k_dense_replace", kRequired}};
constexpr HfRow kKimiK2[] = {{"tie_embeddings", "", "false"},
                             {"moe_router_pre_softmax", "", "true"},
                             {"moe_router_load_balancing_type", "", "seq_aux_loss"},
                             {"moe_router_dtype", "", "fp32"},
                             {"make_vocab_size_divisible_by", "", "1280"},
                             {"moe_router_enable_expert_bias", "", "true"},
                             {"moe_aux_loss_coeff", "", "1e-3"},
                             {"first_k_dense", "first_k_dense_replace", kRequired}};
constexpr HfRow kGlm47Flash[] = {{"tie_embeddings", "", "false"},
                                 {"moe_router_pre_softmax", "", "true"},
                                 {"moe_router_load_balancing_type", "", "seq_aux_loss"},
                                 {"moe_router_dtype", "", "fp32"},
                                 {"moe_router_score_function", "", "sigmoid"},
                                 {"moe_router_enable_expert_bias", "", "true"},
                                 {"moe_router_bias_update_rate", "", "0.0"},
                                 {"moe_aux_loss_coeff", "", "0.001"},
                                 {"mtp_loss_scaling_factor", "", "0.3"},
                                 {"first_k_dense", "first_k_dense_replace", "1"}};
constexpr HfDerivation kDeepSeekV32Derivations[] = {hf::Latent, hf::SparseIndexer, hf::FirstLayersDense,
                                                    hf::SharedExperts};
constexpr HfRow kGlm5[] = {{"tie_embeddings", "", "false"},
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
constexpr HfDerivation kGlm5Derivations[] = {hf::Latent, hf::GlmHeadSizes, hf::SparseIndexer, hf::FirstLayersDense,
                                             hf::SharedExperts};
constexpr HfRow kDeepSeekV4[] = {{"attention", "", "csa-hybrid"},
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
                                 {"activation_func_clamp_value", "swiglu_limit", kRequired},
                                 {"moe_router_score_function", "scoring_func", kRequired}};
constexpr HfDerivation kDeepSeekV4Derivations[] = {hf::EveryLayerMoe, hf::SharedExperts, hf::DeepSeekV4};
constexpr HfRow kGlm45[] = {{"tie_embeddings", "", "false"},
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
constexpr HfDerivation kGlm45Derivations[] = {hf::FirstLayersDense, hf::SharedLikeRouted};
constexpr HfRow kGptOss[] = {{"moe_router_score_function", "", "softmax"},
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
constexpr HfRow kOlmoe[] = {
    {"qk_layernorm", "", "true"},           {"qk_layernorm_kind", "", "full_dim"},
    {"tie_embeddings", "", "false"},        {"moe_router_load_balancing_type", "", "seq_aux_loss"},
    {"moe_router_pre_softmax", "", "true"}, {"moe_router_score_function", "", "softmax"},
    {"moe_router_dtype", "", "fp32"},       {"moe_ffn_hidden_size", "intermediate_size", kRequired}};
constexpr HfDerivation kOlmoeDerivations[] = {hf::EveryLayerMoe, hf::SoftmaxScoringOnly};
constexpr HfRow kMiniMaxM2[] = {{"layernorm_epsilon", "rms_norm_eps", "1e-6"},
                                {"add_qkv_bias", "", "false"},
                                {"qk_layernorm", "", "true"},
                                {"qk_layernorm_kind", "", "full_dim"},
                                {"moe_router_pre_softmax", "", "false"},
                                {"moe_router_load_balancing_type", "", "aux_loss"},
                                {"moe_router_score_function", "", "sigmoid"},
                                {"moe_router_enable_expert_bias", "", "true", false, "use_routing_bias"},
                                {"moe_aux_loss_coeff", "router_aux_loss_coef", "1e-3"},
                                {"moe_ffn_hidden_size", "moe_intermediate_size|intermediate_size", kRequired}};
constexpr HfDerivation kMiniMaxM2Derivations[] = {hf::EveryLayerMoe, hf::RotaryDimension};
constexpr HfRow kMiniMaxM3[] = {{"attention", "", "gqa+block-sparse"},
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
constexpr HfDerivation kMiniMaxM3Derivations[] = {hf::RotaryDimension, hf::MiniMaxM3};
constexpr HfRow kErnie[] = {{"add_qkv_bias", "", "false", false, "use_bias"},
                            {"rotary_base", "", "500000"},
                            {"rotary_interleaved", "", "true"},
                            {"moe_router_load_balancing_type", "", "aux_loss"},
                            {"moe_router_pre_softmax", "", "false"},
                            {"moe_router_score_function", "", "sigmoid"},
                            {"moe_router_enable_expert_bias", "", "true"},
                            {"moe_router_dtype", "", "fp32"},
                            {"mtp_num_layers", "", "null"},
                            {"moe_router_topk", "moe_k", "6"},
                            {"moe_aux_loss_coeff", "router_aux_loss_coef", "0.001"}};
constexpr HfDerivation kErnieDerivations[] = {hf::Ernie};
constexpr HfRow kNemotronH[] = {
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
constexpr HfDerivation kNemotronHDerivations[] = {hf::NemotronHybrid};
constexpr HfRow kNemotron[] = {{"normalization", "", "LayerNorm"},       {"activation", "", "squared_relu"},
                               {"gated_linear_unit", "", "false"},       {"add_bias_linear", "", "false"},
                               {"attention_dropout", "", "0.0"},         {"layernorm_zero_centered_gamma", "", "true"},
                               {"layernorm_epsilon", "norm_eps", "1e-5"}};
constexpr HfRow kGemma[] = {{"activation", "", "geglu_tanh"},
                            {"gated_linear_unit", "", "true"},
                            {"tie_embeddings", "", "true"},
                            {"layernorm_zero_centered_gamma", "", "true"},
                            {"add_bias_linear", "", "false"},
                            {"kv_channels", "head_dim", "256"},
                            {"layernorm_epsilon", "rms_norm_eps", "1e-6"}};
constexpr HfDerivation kGemmaDerivations[] = {hf::Gemma};
constexpr HfRow kGemma2[] = {{"num_attention_heads", "num_attention_heads", "8"},
                             {"num_query_groups", "num_key_value_heads", "4"},
                             {"kv_channels", "head_dim", "256"},
                             {"layernorm_epsilon", "rms_norm_eps", "1e-6"},
                             {"activation", "", "geglu_tanh"},
                             {"gated_linear_unit", "", "true"},
                             {"attention_dropout", "", "0.0"},
                             {"tie_embeddings", "", "true"},
                             {"layernorm_zero_centered_gamma", "", "true"},
                             {"add_bias_linear", "", "false"},
                             {"norms_per_layer", "", "4"},
                             {"attention", "", "gqa+sliding"},
                             {"window_attn_skip_freq", "", "2"},
                             {"window_size", "sliding_window", "4096"}};
constexpr HfDerivation kGemma2Derivations[] = {hf::Gemma2};
constexpr HfRow kGemma3[] = {{"activation", "", "geglu_tanh"},
                             {"gated_linear_unit", "", "true"},
                             {"qk_layernorm", "", "true"},
                             {"qk_layernorm_kind", "", "per_head"},
                             {"tie_embeddings", "", "true"},
                             {"layernorm_zero_centered_gamma", "", "true"},
                             {"norms_per_layer", "", "4"},
                             {"attention", "", "gqa+sliding"},
                             {"window_attn_skip_freq", "", "6"},
                             {"window_size", "sliding_window", "4096"},
                             {"rotary_base", "rope_theta", "1000000"},
                             // A wrapper's text_config leaves out what its class has by itself.
                             {"num_layers", "num_hidden_layers", "26"},
                             {"hidden_size", "hidden_size", "2304"},
                             {"ffn_hidden_size", "intermediate_size", "9216"},
                             {"num_attention_heads", "num_attention_heads", "8"},
                             {"num_query_groups", "num_key_value_heads", "4"},
                             {"kv_channels", "head_dim", "256"},
                             {"vocab_size", "vocab_size", "262208"},
                             {"max_position_embeddings", "max_position_embeddings", "131072"},
                             {"layernorm_epsilon", "rms_norm_eps", "1e-6"}};
constexpr HfDerivation kGemma3Derivations[] = {hf::Gemma3};
constexpr HfRow kGemma4[] = {{"activation", "", "geglu_tanh"},
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
constexpr HfDerivation kGemma4Derivations[] = {hf::Gemma4};
constexpr HfRow kMimoV2Flash[] = {{"attention", "", "gqa+sliding"},
                                  {"window_size", "sliding_window_size|sliding_window", kRequired},
                                  {"layernorm_epsilon", "layernorm_epsilon", kRequired},
                                  {"v_head_dim", "", "null"},
                                  {"moe_router_load_balancing_type", "", "none"},
                                  {"moe_router_enable_expert_bias", "", "true"},
                                  {"moe_router_pre_softmax", "", "true"}};
constexpr HfDerivation kMimoV2FlashDerivations[] = {hf::MiMoV2Flash};
constexpr HfRow kMimo[] = {
    {"qk_layernorm", "", "false"}, {"add_qkv_bias", "", "true"}, {"mtp_loss_scaling_factor", "", "0.1"}};
constexpr HfRow kBailing[] = {{"layernorm_epsilon", "rms_norm_eps", "1e-6"},
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
constexpr HfRow kMixtral[] = {{"num_query_groups", "num_key_value_heads", "8"},
                              {"rotary_base", "rope_theta|rope_parameters.rope_theta", "1000000"},
                              {"moe_router_score_function", "", "softmax"},
                              {"num_moe_experts", "num_local_experts", "8"},
                              {"moe_ffn_hidden_size", "intermediate_size", kRequired},
                              {"moe_router_pre_softmax", "", "false"},
                              {"moe_router_load_balancing_type", "", "aux_loss"}};
constexpr HfDerivation kMixtralDerivations[] = {hf::EveryLayerMoe, hf::SlidingWindow};
constexpr HfRow kKimiHybrid[] = {{"position_embedding_type", "", "none"},
                                 {"moe_router_pre_softmax", "", "true"},
                                 {"moe_router_enable_expert_bias", "", "true"},
                                 {"moe_router_bias_update_rate", "", "0.0"},
                                 {"moe_router_load_balancing_type", "", "none"},
                                 {"moe_aux_loss_coeff", "", "0.0"},
                                 {"moe_router_topk", "num_experts_per_token", kRequired},
                                 {"moe_router_score_function", "moe_router_activation_func", kRequired},
                                 {"first_k_dense", "first_k_dense_replace", kRequired}};
constexpr HfDerivation kKimiLinearDerivations[] = {hf::Latent, hf::KimiHybrid};
constexpr HfDerivation kKimiK3Derivations[] = {hf::Latent, hf::KimiHybrid, hf::KimiK3};
constexpr HfRow kLlama4[] = {{"attention", "", "gqa+chunked"},
                             {"moe_ffn_hidden_size", "intermediate_size", kRequired},
                             {"moe_shared_expert_intermediate_size", "intermediate_size", kRequired},
                             {"ffn_hidden_size", "intermediate_size_mlp", kRequired},
                             {"attention_chunk_size", "attention_chunk_size", kRequired},
                             {"moe_router_score_function", "", "sigmoid"},
                             {"moe_router_pre_softmax", "", "false"}};
constexpr HfDerivation kLlama4Derivations[] = {hf::Llama4};
constexpr HfRow kDbrx[] = {{"num_query_groups", "attn_config.kv_n_heads", kRequired},
                           {"rotary_base", "attn_config.rope_theta", kRequired},
                           {"ffn_hidden_size", "ffn_config.ffn_hidden_size", kRequired},
                           {"moe_ffn_hidden_size", "ffn_config.ffn_hidden_size", kRequired},
                           {"num_moe_experts", "ffn_config.moe_num_experts", kRequired},
                           {"moe_router_topk", "ffn_config.moe_top_k", kRequired},
                           {"normalization", "", "LayerNorm"},
                           {"layernorm_no_bias", "", "true"},
                           {"moe_router_score_function", "", "softmax"}};
// Sizes only: the file does not say which linear layers have a bias, nor the rotary base.
constexpr HfRow kPhiMoe[] = {{"normalization", "", "LayerNorm"},
                             {"add_qkv_bias", "attention_bias", "null"},
                             {"add_bias_linear", "mlp_bias", "null"},
                             {"rotary_base", "rope_theta", "null"},
                             {"moe_ffn_hidden_size", "intermediate_size", kRequired}};
constexpr HfRow kGrok1[] = {
    {"moe_ffn_hidden_size", "intermediate_size", kRequired}, {"activation", "", "geglu"}, {"norms_per_layer", "", "4"}};
constexpr HfRow kStep3[] = {{"attention", "", "mfa"},
                            {"num_moe_experts", "moe_num_experts", kRequired},
                            {"moe_router_topk", "moe_top_k", kRequired},
                            {"mfa_q_rank", "share_q_dim", kRequired},
                            {"moe_shared_expert_intermediate_size", "share_expert_dim|share_expert_dims", kRequired}};
constexpr HfDerivation kStep3Derivations[] = {hf::Step3};
constexpr HfRow kStep35[] = {{"attention", "", "gqa+sliding"},
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
constexpr HfDerivation kStep35Derivations[] = {hf::Step35};

const HfFamily kFamilies[] = {
    {"llama", "LlamaForCausalLM", kLlama, {}},
    {"mistral", "MistralForCausalLM|Mistral3ForConditionalGeneration", kMistral, kSliding},
    {"mixtral", "MixtralForCausalLM", kMixtral, kMixtralDerivations, kNoConverter},
    {"qwen2", "Qwen2ForCausalLM|Qwen2_5_VLForConditionalGeneration", kQwen2, {}},
    {"qwen3", "Qwen3ForCausalLM|Qwen3VLForConditionalGeneration", kQwen3, {}},
    {"qwen3_moe", "Qwen3MoeForCausalLM|Qwen3VLMoeForConditionalGeneration", kQwen3Moe, kMoeEverywhere},
    {"qwen2_moe", "Qwen2MoeForCausalLM", kQwen2Moe, kMoeEverywhere, kNoConverter},
    {"qwen3_next", "Qwen3NextForCausalLM", kQwenHybrid, kQwenHybridDerivations},
    {"qwen3_5_moe", "Qwen3_5MoeForCausalLM|Qwen3_5MoeForConditionalGeneration", kQwenHybrid, kQwenHybridDerivations},
    {"qwen3_5", "Qwen3_5ForCausalLM|Qwen3_5ForConditionalGeneration", kQwenHybridDense, kLinearLayers},
    {"deepseek_v2", "DeepseekV2ForCausalLM", kDeepSeekV2, kLatentMoe},
    // Kimi-K2 is published with DeepSeek's class and converted as such.
    {"deepseek_v3", "DeepseekV3ForCausalLM", kDeepSeekV3, kLatentMoe},
    {"kimi_k2", "KimiK2ForCausalLM|KimiK25ForConditionalGeneration", kKimiK2, kLatentMoe},
    {"deepseek_v32", "DeepseekV32ForCausalLM", kDeepSeekV3, kDeepSeekV32Derivations, kNoConverter},
    {"glm4_moe_lite", "Glm4MoeLiteForCausalLM", kGlm47Flash, kLatentMoe},
    {"glm_moe_dsa", "GlmMoeDsaForCausalLM", kGlm5, kGlm5Derivations, "Megatron-Bridge trains this class without MTP"},
    {"deepseek_v4", "DeepseekV4ForCausalLM", kDeepSeekV4, kDeepSeekV4Derivations},
    {"glm4_moe", "Glm4MoeForCausalLM|Glm4vMoeForConditionalGeneration", kGlm45, kGlm45Derivations},
    {"gpt_oss", "GptOssForCausalLM", kGptOss, kAllMoe},
    {"olmoe", "OlmoeForCausalLM", kOlmoe, kOlmoeDerivations},
    {"minimax_m2", "MiniMaxM2ForCausalLM", kMiniMaxM2, kMiniMaxM2Derivations, "MTP modules are not converted"},
    {"minimax_m3", "MiniMaxM3SparseForConditionalGeneration|MiniMaxM3ForCausalLM", kMiniMaxM3, kMiniMaxM3Derivations},
    {"ernie4_5_moe", "Ernie4_5_MoeForCausalLM", kErnie, kErnieDerivations},
    {"nemotron_h", "NemotronHForCausalLM", kNemotronH, kNemotronHDerivations},
    {"nemotron", "NemotronForCausalLM", kNemotron, {}},
    {"gemma", "GemmaForCausalLM", kGemma, kGemmaDerivations},
    {"gemma2", "Gemma2ForCausalLM", kGemma2, kGemma2Derivations},
    {"gemma3", "Gemma3ForCausalLM|Gemma3ForConditionalGeneration", kGemma3, kGemma3Derivations},
    {"gemma4", "Gemma4ForCausalLM|Gemma4ForConditionalGeneration", kGemma4, kGemma4Derivations},
    {"mimo", "MiMoForCausalLM", kMimo, {}},
    {"mimo_v2_flash", "MiMoV2FlashForCausalLM", kMimoV2Flash, kMimoV2FlashDerivations},
    {"bailing_moe_v2", "BailingMoeV2ForCausalLM", kBailing, kGlm45Derivations},
    {.label = "step3p5",
     .classes = "Step3p5ForCausalLM",
     .rows = kStep35,
     .derivations = kStep35Derivations,
     .own = "rotary_base"},
    {"kimi_k3", "KimiK3ForConditionalGeneration", kKimiHybrid, kKimiK3Derivations},
    {"kimi_linear", "KimiLinearForCausalLM", kKimiHybrid, kKimiLinearDerivations, kNoConverter},
    {"llama4", "Llama4ForConditionalGeneration|Llama4ForCausalLM", kLlama4, kLlama4Derivations, kNoConverter},
    {"dbrx", "DbrxForCausalLM", kDbrx, kAllMoe, kNoConverter},
    {"phimoe", "PhiMoEForCausalLM", kPhiMoe, kAllMoe, kNoConverter},
    {"grok1", "Grok1ForCausalLM|Grok1ModelForCausalLM", kGrok1, kAllMoe, kNoConverter},
    {"step3", "Step3TextForCausalLM", kStep3, kStep3Derivations, kNoConverter},
};

}  // namespace

absl::Span<const HfRow> HfCommonRows() { return kCommon; }
absl::Span<const HfDerivation> HfCommonDerivations() { return kCommonDerivations; }
absl::Span<const HfFamily> HfFamilies() { return kFamilies; }

}  // namespace flightplan
