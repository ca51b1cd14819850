// Rows of families without experts. What HfRow and HfDerivation mean is said in hf_families.h.
#pragma once

#include "resolver/normalize/hf_families.h"

namespace flightplan {

inline constexpr HfDerivation kSliding[] = {hf::SlidingWindow};
// What transformers' classes have where a file leaves it out, as save_pretrained does.
inline constexpr HfRow kLlama[] = {{"layernorm_epsilon", "rms_norm_eps", "1e-6"}};
inline constexpr HfRow kMistral[] = {{"num_query_groups", "num_key_value_heads", "8"},
                                     {"layernorm_epsilon", "rms_norm_eps", "1e-6"}};
inline constexpr HfRow kQwen2[] = {{"add_qkv_bias", "", "true"}, {"layernorm_epsilon", "rms_norm_eps", "1e-6"}};
inline constexpr HfRow kQwen3[] = {{"add_qkv_bias", "", "false"},
                                   {"qk_layernorm", "", "true"},
                                   {"qk_layernorm_kind", "", "per_head"},
                                   {"kv_channels", "head_dim", "128"},
                                   {"layernorm_epsilon", "rms_norm_eps", "1e-6"}};
inline constexpr HfRow kNemotron[] = {
    {"normalization", "", "LayerNorm"},       {"activation", "", "squared_relu"},
    {"gated_linear_unit", "", "false"},       {"add_bias_linear", "", "false"},
    {"attention_dropout", "", "0.0"},         {"layernorm_zero_centered_gamma", "", "true"},
    {"layernorm_epsilon", "norm_eps", "1e-5"}};
inline constexpr HfRow kGemma[] = {{"activation", "", "geglu_tanh"},
                                   {"gated_linear_unit", "", "true"},
                                   {"tie_embeddings", "", "true"},
                                   {"layernorm_zero_centered_gamma", "", "true"},
                                   {"add_bias_linear", "", "false"},
                                   {"kv_channels", "head_dim", "256"},
                                   {"layernorm_epsilon", "rms_norm_eps", "1e-6"}};
inline constexpr HfDerivation kGemmaDerivations[] = {hf::Gemma};
inline constexpr HfRow kGemma2[] = {{"num_attention_heads", "num_attention_heads", "8"},
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
inline constexpr HfDerivation kGemma2Derivations[] = {hf::Gemma2};
inline constexpr HfRow kGemma3[] = {{"activation", "", "geglu_tanh"},
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
inline constexpr HfDerivation kGemma3Derivations[] = {hf::Gemma3};
inline constexpr HfRow kMimo[] = {
    {"qk_layernorm", "", "false"}, {"add_qkv_bias", "", "true"}, {"mtp_loss_scaling_factor", "", "0.1"}};
inline constexpr HfRow kExaone4[] = {{"add_qkv_bias", "", "false"},
                                     {"qk_layernorm", "", "true"},
                                     {"qk_layernorm_kind", "", "per_head"},
                                     {"window_size", "sliding_window"}};
inline constexpr HfDerivation kExaone4Derivations[] = {hf::NormsBehind, hf::RotaryInWindowsAlone};
inline constexpr HfRow kHunyuanDense[] = {{"qk_layernorm", "use_qk_norm", "true"},
                                          {"qk_layernorm_kind", "", "per_head"},
                                          {"kv_channels", "head_dim|attention_head_dim"}};

}  // namespace flightplan
