// A model's architecture: what the catalogue, a Hugging Face config.json or a caller says about it. Every number is a
// count of scalars, heads, layers or experts. An empty optional means "does not apply to this model, or not published";
// the two are told apart by `unverified`, which names the fields that no source states.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "resolver/plan/environment.h"
#include "resolver/plan/knob.h"

namespace flightplan {

// Parameter counts. Active: routed experts count topk times instead of num_moe_experts times, MTP blocks excluded.
struct ParameterCounts {
  int64_t total = 0;  // without MTP
  int64_t total_with_mtp = 0;
  int64_t active = 0;
  int64_t active_without_input_embedding = 0;
  int64_t active_without_any_embedding = 0;
  friend bool operator==(const ParameterCounts&, const ParameterCounts&) = default;
};

// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): one per model, ordered by subject
struct ModelSpec {
  std::string name;    // catalogue name: "deepseek-v3"
  std::string family;  // "deepseek"
  std::vector<std::string> aliases;
  std::optional<std::string> hf_id;         // "deepseek-ai/DeepSeek-V3"
  std::optional<std::string> architecture;  // Hugging Face class: "DeepseekV3ForCausalLM"
  std::optional<std::string> model_type;    // Hugging Face tag: "deepseek_v3"
  std::optional<std::string> bridge;        // the Megatron-Bridge file that converts it
  std::vector<std::string> sources;
  std::vector<std::string> derived;     // fields that follow from others rather than from a source
  std::vector<std::string> unverified;  // fields that no source states
  // What it has that Megatron-Core's own classes do not build, beside what other fields say: phrases.
  std::vector<std::string> beyond_core;
  std::string notes;

  // Shape.
  int64_t num_layers = 0;
  int64_t hidden_size = 0;
  std::optional<int64_t> ffn_hidden_size;  // dense MLP width; empty when every layer is MoE
  int64_t num_attention_heads = 0;
  int64_t num_query_groups = 0;
  std::optional<int64_t> kv_channels;  // head size; empty for MLA
  int64_t vocab_size = 0;              // unpadded
  std::optional<bool> tie_embeddings;
  std::string normalization = "RMSNorm";  // or LayerNorm
  bool layernorm_no_bias = false;
  bool layernorm_zero_centered_gamma = false;
  std::optional<int64_t> norms_per_layer;  // 4 in Gemma and Grok-1 blocks; empty: 2
  std::string activation = "swiglu";       // swiglu, swiglu_oai, geglu, geglu_tanh, situ_glu, squared_relu, gelu
  bool gated_linear_unit = true;
  std::optional<double> activation_func_clamp_value;
  std::optional<double> glu_linear_offset;
  std::optional<bool> add_qkv_bias;
  std::optional<bool> add_bias_linear;
  bool attn_out_bias = false;   // bias on the attention output projection only
  bool mlp_bias_dense = false;  // bias on dense MLP layers

  // Attention. `attention` names the kind: mha, gqa, gqa+sliding, gqa+chunked, gqa+block-sparse, mla, mla+dsa,
  // csa-hybrid, kda-mla-hybrid, linear-hybrid, mamba-hybrid, mfa.
  std::string attention = "gqa";
  std::optional<int64_t> q_lora_rank;
  std::optional<int64_t> kv_lora_rank;
  std::optional<int64_t> qk_head_dim;
  std::optional<int64_t> qk_pos_emb_head_dim;
  std::optional<int64_t> v_head_dim;
  std::optional<bool> qk_layernorm;
  std::optional<std::string> qk_layernorm_kind;  // per_head, full_dim, l2_no_weight, mla_latent
  bool attention_output_gate = false;
  bool mla_output_gate = false;
  std::optional<std::string> softmax_type;  // "learnable": one sink per head
  std::optional<int64_t> query_pre_attn_scalar;
  std::optional<int64_t> mfa_q_rank;
  std::optional<int64_t> window_size;
  std::optional<int64_t> window_attn_skip_freq;
  std::vector<int64_t> window_attn_layers;  // one per layer: 1 with the window; in place of the period
  std::optional<int64_t> attention_chunk_size;
  // Sparse indexers: next to MLA (dsa_), of the block-sparse kind (index_).
  std::optional<int64_t> dsa_indexer_n_heads;
  std::optional<int64_t> dsa_indexer_head_dim;
  std::optional<int64_t> dsa_indexer_topk;
  std::optional<int64_t> dsa_indexer_topk_freq;
  std::optional<int64_t> dsa_indexer_skip_topk_offset;
  std::optional<int64_t> index_n_heads;
  std::optional<int64_t> index_head_dim;
  std::optional<int64_t> num_indexer_layers;
  // DeepSeek-V4 hybrid.
  std::optional<int64_t> o_groups;
  std::optional<int64_t> o_lora_rank;
  std::optional<int64_t> csa_window_size;
  std::vector<int64_t> csa_compress_ratios;  // one per layer, then one per MTP depth
  std::optional<int64_t> csa_compress_rotary_base;
  std::optional<int64_t> num_residual_streams;
  std::optional<int64_t> mhc_sinkhorn_iterations;
  // Linear attention (gated delta net, Kimi delta attention) and Mamba-2.
  std::optional<int64_t> num_linear_attention_layers;
  std::vector<int64_t> linear_attention_freq;  // one per layer: 1 linear, 0 full attention
  std::optional<int64_t> linear_num_key_heads;
  std::optional<int64_t> linear_num_value_heads;
  std::optional<int64_t> linear_key_head_dim;
  std::optional<int64_t> linear_value_head_dim;
  std::optional<int64_t> linear_conv_kernel_dim;
  bool kda_full_gate = false;
  std::optional<std::string> hybrid_layer_pattern;  // a symbol per layer: M Mamba, * attention, - MLP, E MoE
  std::optional<std::string> mtp_hybrid_override_pattern;
  std::optional<int64_t> mamba_num_heads;
  std::optional<int64_t> mamba_head_dim;
  std::optional<int64_t> mamba_state_dim;
  std::optional<int64_t> mamba_num_groups;
  std::optional<int64_t> mamba_conv_kernel;
  std::optional<int64_t> mamba_chunk_size;

  // Positions.
  std::optional<std::string> position_embedding_type;  // rope when empty; none, learned_absolute
  std::optional<int64_t> learned_positions;
  std::optional<int64_t> max_position_embeddings;
  std::optional<double> rotary_base;
  std::optional<double> rotary_percent;
  std::optional<std::string> rope_scaling_type;  // yarn, llama3

  // Mixture of experts; all empty for a dense model.
  std::optional<int64_t> num_moe_experts;
  std::optional<int64_t> moe_router_topk;
  std::optional<int64_t> moe_ffn_hidden_size;
  std::optional<int64_t> moe_shared_expert_intermediate_size;  // all shared experts together
  std::optional<bool> moe_shared_expert_gate;
  std::optional<int64_t> moe_latent_size;
  bool latent_norm = false;             // a norm between the routed experts and the up projection
  std::vector<int64_t> moe_layer_freq;  // one per layer: 1 MoE, 0 dense; empty for dense and hybrid-pattern models
  std::optional<int64_t> first_k_dense;
  std::optional<std::string> moe_router_score_function;  // softmax, sigmoid, sqrtsoftplus
  std::optional<bool> moe_router_pre_softmax;
  std::optional<bool> moe_router_enable_expert_bias;
  std::optional<int64_t> moe_router_num_groups;
  std::optional<int64_t> moe_router_group_topk;
  std::optional<double> moe_router_topk_scaling_factor;
  std::optional<int64_t> moe_n_hash_layers;
  bool expert_bias_terms = false;
  bool router_bias = false;
  std::optional<int64_t> mtp_num_layers;

  // Figures to check against: what the publisher says and what the formulas of derive/parameters give.
  std::optional<int64_t> published_total_params;
  std::optional<int64_t> published_active_params;
  std::string published_source;
  std::string published_scope;
  std::optional<ParameterCounts> computed;

  // Settings of the checkpoint that no formula needs but that a launch must repeat (layernorm_epsilon, aux-loss
  // coefficients ...), as knobs.
  std::vector<std::pair<Knob, Value>> knobs;

  bool is_moe() const { return num_moe_experts.has_value(); }
  // Built by Megatron's MLA config class; the DeepSeek-V4 hybrid is one of them without a kv_lora_rank.
  bool is_mla() const { return kv_lora_rank.has_value() || attention == "csa-hybrid"; }

  friend bool operator==(const ModelSpec&, const ModelSpec&) = default;
};

// Says in an environment which model its converters meet.
inline void NameModel(const ModelSpec& model, Environment* env) {
  env->model_class = model.architecture.value_or("");
  env->model_type = model.model_type.value_or("");
}

}  // namespace flightplan
