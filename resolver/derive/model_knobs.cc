#include "resolver/derive/model_knobs.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "resolver/catalog/bridge_converters.h"
#include "resolver/catalog/defaults.h"
#include "resolver/plan/stack.h"

namespace flightplan {
namespace {

using K = Knob;

// Upstream's name of the activation function, and the switch that stands for it on the command line.
struct ActivationNames {
  absl::string_view activation;
  absl::string_view function;
  bool gated;
  std::optional<Knob> flag;  // none: a command line cannot say it
};
constexpr ActivationNames kActivations[] = {
    {"swiglu", "silu", true, K::swiglu},
    {"swiglu_oai", "quick_gelu", true, K::quick_geglu},
    {"squared_relu", "squared_relu", false, K::squared_relu},
    {"geglu", "gelu", true, std::nullopt},
    {"geglu_tanh", "fast_gelu", true, std::nullopt},
    {"situ_glu", "situ", true, std::nullopt},
    {"relu", "relu", false, std::nullopt},
};

const ActivationNames* FindActivation(absl::string_view activation) {
  for (const ActivationNames& names : kActivations) {
    if (names.activation == activation) return &names;
  }
  return nullptr;  // gelu, Megatron's default
}

class Writer {
 public:
  Writer(const ModelSpec& model, const Environment& env)
      : m_(model),
        cli_(StackOf(env).command_line),
        // Renamed in the newest Megatron-Core, which warns of the old name that Megatron-Bridge's providers have.
        delta_net_(env.core_release == kMain ? "gdn" : "gated_delta_net"),
        known_(DefaultsFor(env.target, env.core_release, env.bridge_release, model.is_mla())) {}

  std::vector<std::pair<Knob, Value>> Run() {
    knobs_.reserve(64);
    Shape();
    Attention();
    Positions();
    if (m_.is_moe()) Experts();
    Hybrid();
    Put(K::mtp_num_layers, m_.mtp_num_layers);
    Put(K::attention_dropout, Value(0.0));
    Put(K::hidden_dropout, Value(0.0));
    for (const auto& [knob, value] : m_.knobs) Replace(knob, value);
    return std::move(knobs_);
  }

  // Features whose knob the release lacks although the model needs it on.
  std::vector<Knob> TakeAbsent() { return std::move(absent_); }

 private:
  bool Has(Knob knob) const { return known_.origin(knob) != Origin::kAbsent; }

  void Put(Knob knob, const Value& value) {
    if (Has(knob)) {
      knobs_.emplace_back(knob, value);
    } else if (value.truthy()) {
      absent_.push_back(knob);
    }
  }
  template <class T>
  void Put(Knob knob, const std::optional<T>& value) {
    if (value.has_value()) Put(knob, Value(*value));
  }
  // A name that only some targets have, beside one that all have.
  void PutTwin(Knob knob, const Value& value) {
    if (Has(knob)) knobs_.emplace_back(knob, value);
  }
  void Replace(Knob knob, const Value& value) {
    if (!Has(knob)) return;
    for (auto& [known, old] : knobs_) {
      if (known != knob) continue;
      old = value;
      return;
    }
    knobs_.emplace_back(knob, value);
  }
  // A pattern: 1 when it is on in every layer, else the list.
  static Value Frequency(const std::vector<int64_t>& pattern) {
    if (std::count(pattern.begin(), pattern.end(), 1) == static_cast<ptrdiff_t>(pattern.size())) return Value(1);
    return Value(Value::List(pattern.begin(), pattern.end()));
  }

  void Shape() {
    Put(K::num_layers, Value(m_.num_layers));
    Put(K::hidden_size, Value(m_.hidden_size));
    Put(K::ffn_hidden_size, m_.ffn_hidden_size);
    Put(K::num_attention_heads, Value(m_.num_attention_heads));
    PutTwin(K::vocab_size, Value(m_.vocab_size));
    Put(K::normalization, Value(m_.normalization));
    Put(K::add_bias_linear, Value(m_.add_bias_linear.value_or(false)));
    Put(K::layernorm_zero_centered_gamma, Value(m_.layernorm_zero_centered_gamma));
    const bool tied = m_.tie_embeddings.value_or(false);
    PutTwin(K::share_embeddings_and_output_weights, Value(tied));
    PutTwin(K::untie_embeddings_and_output_weights, Value(!tied));
    Activation();
  }

  void Activation() {
    if (const ActivationNames* names = FindActivation(m_.activation)) {
      PutTwin(K::activation_func, Value(names->function));
      if (cli_ && names->flag.has_value()) Put(*names->flag, Value(true));
    }
    PutTwin(K::gated_linear_unit, Value(m_.gated_linear_unit));
    Put(K::activation_func_clamp_value, m_.activation_func_clamp_value);
    Put(K::glu_linear_offset, m_.glu_linear_offset);
  }

  void Attention() {
    Put(K::add_qkv_bias, Value(m_.add_qkv_bias.value_or(false)));
    const bool unweighted = m_.qk_layernorm_kind == "l2_no_weight";
    Put(K::qk_layernorm, Value(m_.qk_layernorm.value_or(false) && !unweighted));
    if (unweighted) Put(K::qk_l2_norm, Value(true));
    Put(K::attention_output_gate, Value(m_.attention_output_gate));
    Put(K::softmax_type, m_.softmax_type);
    if (m_.window_size.has_value()) {
      Put(K::window_size, Value(Value::List{*m_.window_size - 1, 0}));  // a window counts the token itself
      if (m_.window_attn_layers.empty()) {
        Put(K::window_attn_skip_freq, m_.window_attn_skip_freq);
      } else {
        Put(K::window_attn_skip_freq, Value(Value::List(m_.window_attn_layers.begin(), m_.window_attn_layers.end())));
      }
    }
    if (m_.query_pre_attn_scalar.has_value()) {
      Put(K::softmax_scale, Value(1.0 / std::sqrt(static_cast<double>(*m_.query_pre_attn_scalar))));
    }
    if (m_.is_mla()) {
      LatentAttention();
      return;
    }
    Put(K::kv_channels, m_.kv_channels);
    // On a command line the switch decides whether the number is read at all.
    const bool grouped = m_.num_query_groups != m_.num_attention_heads;
    if (grouped || !cli_) Put(K::num_query_groups, Value(m_.num_query_groups));
    if (cli_) Put(K::group_query_attention, Value(grouped));
  }

  void LatentAttention() {
    Put(K::multi_latent_attention, Value(true));
    // None is a value here: no query compression. A command line has None as its default.
    if (m_.q_lora_rank.has_value() || !cli_) {
      PutTwin(K::q_lora_rank, m_.q_lora_rank.has_value() ? Value(*m_.q_lora_rank) : Value());
    }
    Put(K::kv_lora_rank, m_.kv_lora_rank);
    Put(K::qk_head_dim, m_.qk_head_dim);
    Put(K::qk_pos_emb_head_dim, m_.qk_pos_emb_head_dim);
    Put(K::v_head_dim, m_.v_head_dim);
    if (m_.attention == "csa-hybrid") {
      Put(K::kv_channels, m_.kv_channels);
    } else if (cli_ && m_.num_attention_heads > 0 && m_.hidden_size % m_.num_attention_heads != 0) {
      // Nothing of these layers is made by it, but the command line asks for it where heads do not divide the width.
      Put(K::kv_channels, m_.v_head_dim);
    }
    if (m_.dsa_indexer_n_heads.has_value() && m_.attention == "mla+dsa") {
      Put(K::experimental_attention_variant, Value("dsa"));
    }
    Put(K::dsa_indexer_n_heads, m_.dsa_indexer_n_heads);
    Put(K::dsa_indexer_head_dim, m_.dsa_indexer_head_dim);
    Put(K::dsa_indexer_topk, m_.dsa_indexer_topk);
    // Their defaults (every layer owns an indexer) need no knob.
    if (m_.dsa_indexer_topk_freq.value_or(1) != 1) Put(K::dsa_indexer_topk_freq, m_.dsa_indexer_topk_freq);
    if (m_.dsa_indexer_skip_topk_offset.value_or(0) != 0) {
      Put(K::dsa_indexer_skip_topk_offset, m_.dsa_indexer_skip_topk_offset);
    }
  }

  void Positions() {
    const bool scaled = m_.rope_scaling_type == "yarn" && !m_.is_mla();
    const absl::string_view usual = m_.learned_positions.has_value() ? "learned_absolute" : scaled ? "yarn" : "rope";
    PutTwin(K::position_embedding_type, Value(m_.position_embedding_type.value_or(std::string(usual))));
    const std::optional<int64_t>& positions =
        m_.max_position_embeddings.has_value() ? m_.max_position_embeddings : m_.learned_positions;
    PutTwin(K::max_position_embeddings, positions.has_value() ? Value(*positions) : Value());
    if (m_.rotary_base.has_value()) Put(K::rotary_base, Value(static_cast<int64_t>(std::llround(*m_.rotary_base))));
    Put(K::rotary_percent, m_.rotary_percent);
    if (m_.rope_scaling_type == "llama3") {
      PutTwin(K::use_rope_scaling, Value(true));
      PutTwin(K::rope_scaling, Value(true));
    }
    if (scaled && cli_) YarnOnCommandLine();
    if (cli_) InterpolationOnCommandLine();
  }

  // An integer there.
  void InterpolationOnCommandLine() {
    for (const auto& [knob, value] : m_.knobs) {
      if (knob != K::seq_len_interpolation_factor || !value.is_number()) continue;
      const double factor = value.real();
      if (factor == std::floor(factor) && std::abs(factor) < 1e15) {
        Put(K::rotary_seq_len_interpolation_factor, Value(static_cast<int64_t>(factor)));
      } else {
        absent_.push_back(knob);
      }
    }
  }

  // The command line has one spelling for what the classes keep apart.
  void YarnOnCommandLine() {
    constexpr std::pair<Knob, Knob> kNames[] = {{K::yarn_rotary_scaling_factor, K::rotary_scaling_factor},
                                                {K::yarn_mscale, K::mscale},
                                                {K::yarn_mscale_all_dim, K::mscale_all_dim}};
    for (const auto& [knob, value] : m_.knobs) {
      for (const auto& [from, to] : kNames) {
        if (knob == from) PutTwin(to, value);
      }
    }
  }

  void Experts() {
    Put(K::num_moe_experts, m_.num_moe_experts);
    Put(K::moe_router_topk, m_.moe_router_topk);
    Put(K::moe_ffn_hidden_size, m_.moe_ffn_hidden_size);
    Put(K::moe_shared_expert_intermediate_size, m_.moe_shared_expert_intermediate_size);
    Put(K::moe_shared_expert_gate, Value(m_.moe_shared_expert_gate.value_or(false)));
    if (!m_.moe_layer_freq.empty()) Put(K::moe_layer_freq, Frequency(m_.moe_layer_freq));
    Put(K::moe_latent_size, m_.moe_latent_size);
    Put(K::moe_router_score_function, m_.moe_router_score_function);
    Put(K::moe_router_pre_softmax, m_.moe_router_pre_softmax);
    Put(K::moe_router_enable_expert_bias, Value(m_.moe_router_enable_expert_bias.value_or(false)));
    Put(K::moe_router_num_groups, m_.moe_router_num_groups);
    Put(K::moe_router_group_topk, m_.moe_router_group_topk);
    Put(K::moe_router_topk_scaling_factor, m_.moe_router_topk_scaling_factor);
  }

  void Hybrid() {
    if (m_.attention == "linear-hybrid") {
      Put(K::experimental_attention_variant, Value(delta_net_));
      Put(K::linear_attention_freq, Frequency(m_.linear_attention_freq));
      Put(K::linear_conv_kernel_dim, m_.linear_conv_kernel_dim);
      Put(K::linear_key_head_dim, m_.linear_key_head_dim);
      Put(K::linear_value_head_dim, m_.linear_value_head_dim);
      Put(K::linear_num_key_heads, m_.linear_num_key_heads);
      Put(K::linear_num_value_heads, m_.linear_num_value_heads);
    }
    if (!m_.hybrid_layer_pattern.has_value()) return;
    PutTwin(K::is_hybrid_model, Value(true));
    Put(K::mamba_num_heads, m_.mamba_num_heads);
    Put(K::mamba_head_dim, m_.mamba_head_dim);
    Put(K::mamba_state_dim, m_.mamba_state_dim);
    Put(K::mamba_num_groups, m_.mamba_num_groups);
    if (!cli_) return;
    // Since 0.17 one argument holds the whole stack, MTP depths after a slash each.
    if (!Has(K::hybrid_layer_pattern)) {
      Put(K::hybrid_override_pattern, Value(*m_.hybrid_layer_pattern));
      if (m_.mtp_num_layers.value_or(0) > 0) Put(K::mtp_hybrid_override_pattern, m_.mtp_hybrid_override_pattern);
      return;
    }
    std::string pattern = *m_.hybrid_layer_pattern;
    for (int64_t depth = 0; depth < m_.mtp_num_layers.value_or(0); ++depth) {
      absl::StrAppend(&pattern, "/", m_.mtp_hybrid_override_pattern.value_or(""));
    }
    Put(K::hybrid_layer_pattern, Value(pattern));
  }

  const ModelSpec& m_;
  const bool cli_;
  const absl::string_view delta_net_;
  const Config& known_;
  std::vector<std::pair<Knob, Value>> knobs_;
  std::vector<Knob> absent_;
};

// Architectures that Megatron-Core's own classes do not build, whatever the knobs say.
std::vector<std::string> BeyondMegatronCore(const ModelSpec& m, bool cli) {
  std::vector<std::string> missing = m.beyond_core;
  const auto need = [&](bool needed, absl::string_view what) {
    if (needed) missing.emplace_back(what);
  };
  need(m.attention == "mfa", "multi-matrix factorisation attention");
  need(m.attention == "kda-mla-hybrid", "Kimi delta attention");
  need(m.attention == "csa-hybrid", "compressed sparse attention (DeepSeek-V4)");
  need(m.num_residual_streams.value_or(1) > 1, "hyper-connections (mHC) in a pipeline");
  need(m.attention == "gqa+block-sparse", "block-sparse attention with its own indexer");
  need(m.attention == "gqa+chunked", "chunked local attention");
  if (const int64_t norms = m.norms_per_layer.value_or(2); norms != 2) {
    missing.push_back(absl::StrCat(norms, " norms in a layer"));
  }
  need(m.layernorm_no_bias, "LayerNorm without bias");
  need(m.qk_layernorm_kind == "full_dim", "query and key norms over the full width");
  need(m.latent_norm, "a norm in the latent MoE");
  need(m.mla_output_gate, "an output gate in MLA");
  const ActivationNames* names = FindActivation(m.activation);
  if (names != nullptr && cli && !names->flag.has_value()) {
    missing.push_back(absl::StrCat("the activation ", m.activation));
  } else if (names != nullptr && cli && m.gated_linear_unit && !names->gated) {
    missing.push_back(absl::StrCat("a gate before the activation ", m.activation));
  }
  need(cli && m.query_pre_attn_scalar.has_value(), "its own softmax scale");
  return missing;
}

}  // namespace

std::vector<std::pair<Knob, Value>> ModelKnobs(const ModelSpec& model, const Environment& env,
                                               std::vector<Knob>* absent) {
  Writer writer(model, env);
  std::vector<std::pair<Knob, Value>> knobs = writer.Run();
  if (absent != nullptr) *absent = writer.TakeAbsent();
  return knobs;
}

absl::string_view ActivationOf(absl::string_view function, bool gated) {
  for (const ActivationNames& names : kActivations) {
    if (names.function == function && names.gated == gated) return names.activation;
  }
  return "";
}

std::vector<std::string> MissingModelFeatures(const ModelSpec& model, const Environment& env,
                                              const std::vector<Knob>& absent) {
  // A converter builds what Megatron-Core's classes do not.
  const bool converted = model.bridge.has_value() || IsBridgeConverter(model.architecture.value_or(""));
  if (StackOf(env).container && converted) return {};
  std::vector<std::string> missing = BeyondMegatronCore(model, StackOf(env).command_line);
  for (Knob knob : absent) missing.push_back(absl::StrCat("the knob ", Name(knob)));
  return missing;
}

}  // namespace flightplan
