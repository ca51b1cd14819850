#include "resolver/derive/model_knobs.h"

#include <algorithm>
#include <cmath>

namespace flightplan {
namespace {

using K = Knob;
using Assignments = std::vector<std::pair<Knob, Value>>;

struct IntegerField {
  std::optional<int64_t> ModelSpec::*field;
  Knob knob;
};
constexpr IntegerField kIntegers[] = {
    {&ModelSpec::ffn_hidden_size, K::ffn_hidden_size},
    {&ModelSpec::kv_channels, K::kv_channels},
    {&ModelSpec::q_lora_rank, K::q_lora_rank},
    {&ModelSpec::kv_lora_rank, K::kv_lora_rank},
    {&ModelSpec::qk_head_dim, K::qk_head_dim},
    {&ModelSpec::qk_pos_emb_head_dim, K::qk_pos_emb_head_dim},
    {&ModelSpec::v_head_dim, K::v_head_dim},
    {&ModelSpec::dsa_indexer_n_heads, K::dsa_indexer_n_heads},
    {&ModelSpec::dsa_indexer_head_dim, K::dsa_indexer_head_dim},
    {&ModelSpec::dsa_indexer_topk, K::dsa_indexer_topk},
    {&ModelSpec::dsa_indexer_topk_freq, K::dsa_indexer_topk_freq},
    {&ModelSpec::dsa_indexer_skip_topk_offset, K::dsa_indexer_skip_topk_offset},
    {&ModelSpec::linear_num_key_heads, K::linear_num_key_heads},
    {&ModelSpec::linear_num_value_heads, K::linear_num_value_heads},
    {&ModelSpec::linear_key_head_dim, K::linear_key_head_dim},
    {&ModelSpec::linear_value_head_dim, K::linear_value_head_dim},
    {&ModelSpec::linear_conv_kernel_dim, K::linear_conv_kernel_dim},
    {&ModelSpec::mamba_num_heads, K::mamba_num_heads},
    {&ModelSpec::mamba_head_dim, K::mamba_head_dim},
    {&ModelSpec::mamba_state_dim, K::mamba_state_dim},
    {&ModelSpec::mamba_num_groups, K::mamba_num_groups},
    {&ModelSpec::max_position_embeddings, K::max_position_embeddings},
    {&ModelSpec::num_moe_experts, K::num_moe_experts},
    {&ModelSpec::moe_router_topk, K::moe_router_topk},
    {&ModelSpec::moe_ffn_hidden_size, K::moe_ffn_hidden_size},
    {&ModelSpec::moe_shared_expert_intermediate_size, K::moe_shared_expert_intermediate_size},
    {&ModelSpec::moe_latent_size, K::moe_latent_size},
    {&ModelSpec::moe_router_num_groups, K::moe_router_num_groups},
    {&ModelSpec::moe_router_group_topk, K::moe_router_group_topk},
    {&ModelSpec::mtp_num_layers, K::mtp_num_layers},
};

struct SwitchField {
  std::optional<bool> ModelSpec::*field;
  Knob knob;
};
constexpr SwitchField kSwitches[] = {
    {&ModelSpec::add_qkv_bias, K::add_qkv_bias},
    {&ModelSpec::moe_shared_expert_gate, K::moe_shared_expert_gate},
    {&ModelSpec::moe_router_pre_softmax, K::moe_router_pre_softmax},
    {&ModelSpec::moe_router_enable_expert_bias, K::moe_router_enable_expert_bias},
};

struct RealField {
  std::optional<double> ModelSpec::*field;
  Knob knob;
};
constexpr RealField kReals[] = {
    {&ModelSpec::rotary_percent, K::rotary_percent},
    {&ModelSpec::moe_router_topk_scaling_factor, K::moe_router_topk_scaling_factor},
    {&ModelSpec::activation_func_clamp_value, K::activation_func_clamp_value},
    {&ModelSpec::glu_linear_offset, K::glu_linear_offset},
};

Value FromList(const std::vector<int64_t>& items) { return Value(Value::List(items.begin(), items.end())); }

// Upstream's name of the function inside the gate.
absl::string_view ActivationFunction(absl::string_view activation) {
  if (activation == "swiglu") return "silu";
  if (activation == "swiglu_oai") return "quick_gelu";
  if (activation == "squared_relu") return "squared_relu";
  return "gelu";
}

void AddAttention(const ModelSpec& model, Assignments* out) {
  const bool mla = model.is_mla();
  if (mla) out->emplace_back(K::multi_latent_attention, Value(true));
  if (!mla && model.num_query_groups != model.num_attention_heads) {
    out->emplace_back(K::num_query_groups, Value(model.num_query_groups));
  }
  if (model.qk_layernorm.value_or(false)) {
    const bool l2 = model.qk_layernorm_kind == "l2_no_weight";
    out->emplace_back(l2 ? K::qk_l2_norm : K::qk_layernorm, Value(true));
  }
  if (model.attention_output_gate) out->emplace_back(K::attention_output_gate, Value(true));
  if (model.softmax_type.has_value()) out->emplace_back(K::softmax_type, Value(*model.softmax_type));
  if (model.attention == "mla+dsa") out->emplace_back(K::experimental_attention_variant, Value("dsa"));
  if (model.linear_num_key_heads.has_value() && !model.linear_attention_freq.empty()) {
    out->emplace_back(K::experimental_attention_variant, Value("gdn"));
    out->emplace_back(K::linear_attention_freq, FromList(model.linear_attention_freq));
  }
  if (model.window_size.has_value()) {
    // Upstream counts tokens to the left and to the right; a causal window of n looks n - 1 back.
    out->emplace_back(K::window_size, FromList({*model.window_size - 1, 0}));
  }
  if (model.window_attn_skip_freq.has_value()) {
    out->emplace_back(K::window_attn_skip_freq, Value(*model.window_attn_skip_freq));
  }
}

void AddPositions(const ModelSpec& model, Assignments* out) {
  out->emplace_back(K::position_embedding_type, Value(model.position_embedding_type.value_or("rope")));
  if (model.rotary_base.has_value()) {
    const double base = *model.rotary_base;
    // The command line reads an integer.
    const bool whole = base == std::floor(base) && base < 9e15;
    out->emplace_back(K::rotary_base, whole ? Value(static_cast<int64_t>(base)) : Value(base));
  }
}

void AddExperts(const ModelSpec& model, Assignments* out) {
  if (model.moe_router_score_function.has_value() && model.is_moe()) {
    out->emplace_back(K::moe_router_score_function, Value(*model.moe_router_score_function));
  }
  const bool mixed =
      std::find(model.moe_layer_freq.begin(), model.moe_layer_freq.end(), 0) != model.moe_layer_freq.end();
  if (mixed) out->emplace_back(K::moe_layer_freq, FromList(model.moe_layer_freq));
}

}  // namespace

Assignments ModelKnobs(const ModelSpec& model) {
  Assignments out;
  out.emplace_back(K::num_layers, Value(model.num_layers));
  out.emplace_back(K::hidden_size, Value(model.hidden_size));
  out.emplace_back(K::num_attention_heads, Value(model.num_attention_heads));
  out.emplace_back(K::vocab_size, Value(model.vocab_size));
  for (const IntegerField& entry : kIntegers) {
    const std::optional<int64_t>& value = model.*entry.field;
    if (value.has_value()) out.emplace_back(entry.knob, Value(*value));
  }
  for (const SwitchField& entry : kSwitches) {
    if ((model.*entry.field).value_or(false)) out.emplace_back(entry.knob, Value(true));
  }
  for (const RealField& entry : kReals) {
    const std::optional<double>& value = model.*entry.field;
    if (value.has_value()) out.emplace_back(entry.knob, Value(*value));
  }
  AddAttention(model, &out);
  AddPositions(model, &out);
  AddExperts(model, &out);
  out.emplace_back(K::normalization, Value(model.normalization));
  if (model.layernorm_zero_centered_gamma) out.emplace_back(K::layernorm_zero_centered_gamma, Value(true));
  out.emplace_back(K::activation_func, Value(ActivationFunction(model.activation)));
  out.emplace_back(K::gated_linear_unit, Value(model.gated_linear_unit));
  out.emplace_back(K::add_bias_linear, Value(model.add_bias_linear.value_or(false)));
  const bool tied = model.tie_embeddings.value_or(false);
  out.emplace_back(K::share_embeddings_and_output_weights, Value(tied));
  out.emplace_back(K::untie_embeddings_and_output_weights, Value(!tied));
  if (model.hybrid_layer_pattern.has_value()) {
    out.emplace_back(K::hybrid_layer_pattern, Value(*model.hybrid_layer_pattern));
  }
  // Every published checkpoint of the catalogue is trained without dropout.
  out.emplace_back(K::attention_dropout, Value(0.0));
  out.emplace_back(K::hidden_dropout, Value(0.0));
  for (const auto& [knob, value] : model.knobs) out.emplace_back(knob, value);
  return out;
}

}  // namespace flightplan
