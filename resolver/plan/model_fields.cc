#include "resolver/plan/model_fields.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "resolver/base/status_macros.h"
#include "resolver/base/utf8.h"
#include "resolver/plan/layer_pattern.h"

namespace flightplan {
namespace {

using M = ModelSpec;

// Upper ends: far above any model, low enough that a typing error or a hostile file is caught by name. Counts that the
// formulas multiply are checked for overflow there as well.
constexpr int64_t kMaxLayers = 10000;
constexpr int64_t kMaxWidth = int64_t{1} << 24;
constexpr int64_t kMaxHeads = int64_t{1} << 16;
constexpr int64_t kMaxExperts = int64_t{1} << 16;
constexpr int64_t kMaxVocabulary = int64_t{1} << 26;
constexpr int64_t kMaxTokens = int64_t{1} << 40;

constexpr absl::string_view kAttentionKinds =
    "mha|gqa|gqa+sliding|gqa+chunked|gqa+block-sparse|mla|mla+dsa|csa-hybrid|kda-mla-hybrid|linear-hybrid|"
    "mamba-hybrid|mfa";

const ModelField kFields[] = {
    {"name", &M::name},
    {"family", &M::family},
    {"aliases", &M::aliases},
    {"hf_id", &M::hf_id},
    {"architecture", &M::architecture},
    {"model_type", &M::model_type},
    {"bridge", &M::bridge},
    {"sources", &M::sources},
    {"derived", &M::derived},
    {"unverified", &M::unverified},
    {"beyond_core", &M::beyond_core},
    {"notes", &M::notes},

    {"num_layers", &M::num_layers, 1, kMaxLayers},
    {"hidden_size", &M::hidden_size, 1, kMaxWidth},
    {"ffn_hidden_size", &M::ffn_hidden_size, 1, kMaxWidth},
    {"num_attention_heads", &M::num_attention_heads, 1, kMaxHeads},
    {"num_query_groups", &M::num_query_groups, 1, kMaxHeads},
    {"kv_channels", &M::kv_channels, 1, kMaxHeads},
    {"vocab_size", &M::vocab_size, 1, kMaxVocabulary},
    {"tie_embeddings", &M::tie_embeddings},
    {"normalization", &M::normalization, 0, 0, "RMSNorm|LayerNorm"},
    {"layernorm_no_bias", &M::layernorm_no_bias},
    {"layernorm_zero_centered_gamma", &M::layernorm_zero_centered_gamma},
    {"norms_per_layer", &M::norms_per_layer, 1, 16},
    {"activation", &M::activation, 0, 0, "swiglu|swiglu_oai|geglu|geglu_tanh|situ_glu|squared_relu|gelu|relu"},
    {"gated_linear_unit", &M::gated_linear_unit},
    {"activation_func_clamp_value", &M::activation_func_clamp_value, 0, 1000000},
    {"glu_linear_offset", &M::glu_linear_offset, -1000000, 1000000},
    {"add_qkv_bias", &M::add_qkv_bias},
    {"add_bias_linear", &M::add_bias_linear},
    {"attn_out_bias", &M::attn_out_bias},
    {"mlp_bias_dense", &M::mlp_bias_dense},

    {"attention", &M::attention, 0, 0, kAttentionKinds},
    {"q_lora_rank", &M::q_lora_rank, 1, kMaxWidth},
    {"kv_lora_rank", &M::kv_lora_rank, 1, kMaxWidth},
    {"qk_head_dim", &M::qk_head_dim, 1, kMaxHeads},
    {"qk_pos_emb_head_dim", &M::qk_pos_emb_head_dim, 1, kMaxHeads},
    {"v_head_dim", &M::v_head_dim, 1, kMaxHeads},
    {"qk_layernorm", &M::qk_layernorm},
    {"qk_layernorm_kind", &M::qk_layernorm_kind, 0, 0, "per_head|full_dim|l2_no_weight|mla_latent"},
    {"attention_output_gate", &M::attention_output_gate},
    {"mla_output_gate", &M::mla_output_gate},
    {"softmax_type", &M::softmax_type, 0, 0, "vanilla|off-by-one|learnable"},
    {"query_pre_attn_scalar", &M::query_pre_attn_scalar, 1, kMaxWidth},
    {"mfa_q_rank", &M::mfa_q_rank, 1, kMaxWidth},
    {"window_size", &M::window_size, 1, kMaxTokens},
    {"window_attn_skip_freq", &M::window_attn_skip_freq, 1, kMaxLayers},
    {"window_attn_layers", &M::window_attn_layers, 0, 1},
    {"attention_chunk_size", &M::attention_chunk_size, 1, kMaxTokens},
    {"dsa_indexer_n_heads", &M::dsa_indexer_n_heads, 1, kMaxHeads},
    {"dsa_indexer_head_dim", &M::dsa_indexer_head_dim, 1, kMaxHeads},
    {"dsa_indexer_topk", &M::dsa_indexer_topk, 1, kMaxTokens},
    {"dsa_indexer_topk_freq", &M::dsa_indexer_topk_freq, 1, kMaxLayers},
    {"dsa_indexer_skip_topk_offset", &M::dsa_indexer_skip_topk_offset, 0, kMaxLayers},
    {"index_n_heads", &M::index_n_heads, 1, kMaxHeads},
    {"index_head_dim", &M::index_head_dim, 1, kMaxHeads},
    {"num_indexer_layers", &M::num_indexer_layers, 0, kMaxLayers},
    {"o_groups", &M::o_groups, 1, kMaxHeads},
    {"o_lora_rank", &M::o_lora_rank, 1, kMaxWidth},
    {"csa_window_size", &M::csa_window_size, 1, kMaxTokens},
    {"csa_compress_ratios", &M::csa_compress_ratios, 0, 128},
    {"csa_compress_rotary_base", &M::csa_compress_rotary_base, 1, kMaxTokens},
    {"num_residual_streams", &M::num_residual_streams, 1, 64},
    {"mhc_sinkhorn_iterations", &M::mhc_sinkhorn_iterations, 0, 10000},
    {"num_linear_attention_layers", &M::num_linear_attention_layers, 0, kMaxLayers},
    {"linear_attention_freq", &M::linear_attention_freq, 0, 1},
    {"linear_num_key_heads", &M::linear_num_key_heads, 1, kMaxHeads},
    {"linear_num_value_heads", &M::linear_num_value_heads, 1, kMaxHeads},
    {"linear_key_head_dim", &M::linear_key_head_dim, 1, kMaxHeads},
    {"linear_value_head_dim", &M::linear_value_head_dim, 1, kMaxHeads},
    {"linear_conv_kernel_dim", &M::linear_conv_kernel_dim, 1, 1024},
    {"kda_full_gate", &M::kda_full_gate},
    {"hybrid_layer_pattern", &M::hybrid_layer_pattern},
    {"mtp_hybrid_override_pattern", &M::mtp_hybrid_override_pattern},
    {"mamba_num_heads", &M::mamba_num_heads, 1, kMaxHeads},
    {"mamba_head_dim", &M::mamba_head_dim, 1, kMaxHeads},
    {"mamba_state_dim", &M::mamba_state_dim, 1, kMaxHeads},
    {"mamba_num_groups", &M::mamba_num_groups, 1, kMaxHeads},
    {"mamba_conv_kernel", &M::mamba_conv_kernel, 1, 1024},
    {"mamba_chunk_size", &M::mamba_chunk_size, 1, kMaxTokens},

    {"position_embedding_type", &M::position_embedding_type, 0, 0, "rope|yarn|none|learned_absolute"},
    {"learned_positions", &M::learned_positions, 1, kMaxTokens},
    {"max_position_embeddings", &M::max_position_embeddings, 1, kMaxTokens},
    {"rotary_base", &M::rotary_base, 1, kMaxTokens},
    {"rotary_percent", &M::rotary_percent, 0, 1},
    {"rope_scaling_type", &M::rope_scaling_type, 0, 0, "yarn|llama3|linear|dynamic|longrope"},

    {"num_moe_experts", &M::num_moe_experts, 1, kMaxExperts},
    {"moe_router_topk", &M::moe_router_topk, 1, kMaxExperts},
    {"moe_ffn_hidden_size", &M::moe_ffn_hidden_size, 1, kMaxWidth},
    {"moe_shared_expert_intermediate_size", &M::moe_shared_expert_intermediate_size, 1, kMaxWidth},
    {"moe_shared_expert_gate", &M::moe_shared_expert_gate},
    {"moe_latent_size", &M::moe_latent_size, 1, kMaxWidth},
    {"latent_norm", &M::latent_norm},
    {"moe_layer_freq", &M::moe_layer_freq, 0, 1},
    {"first_k_dense", &M::first_k_dense, 0, kMaxLayers},
    {"moe_router_score_function", &M::moe_router_score_function, 0, 0, "softmax|sigmoid|sqrtsoftplus"},
    {"moe_router_pre_softmax", &M::moe_router_pre_softmax},
    {"moe_router_enable_expert_bias", &M::moe_router_enable_expert_bias},
    {"moe_router_num_groups", &M::moe_router_num_groups, 1, kMaxExperts},
    {"moe_router_group_topk", &M::moe_router_group_topk, 1, kMaxExperts},
    {"moe_router_topk_scaling_factor", &M::moe_router_topk_scaling_factor, 0, 1000000},
    {"moe_n_hash_layers", &M::moe_n_hash_layers, 0, kMaxLayers},
    {"expert_bias_terms", &M::expert_bias_terms},
    {"router_bias", &M::router_bias},
    {"mtp_num_layers", &M::mtp_num_layers, 1, 64},

    {"published_total_params", &M::published_total_params, 1},
    {"published_active_params", &M::published_active_params, 1},
    {"published_source", &M::published_source},
    {"published_scope", &M::published_scope},
};

bool IsPattern(const ModelField& field) { return std::holds_alternative<std::vector<int64_t> M::*>(field.member); }

class Checker {
 public:
  explicit Checker(const ModelSpec& model) : m_(model) {}

  std::vector<ModelFault> Run() {
    Shape();
    Experts();
    Attention();
    Hybrid();
    return std::move(faults_);
  }

 private:
  void Require(bool holds, absl::string_view field, absl::string_view what) {
    if (!holds) faults_.push_back({field, std::string(what)});
  }
  template <class T>
  void Needs(const std::optional<T>& member, absl::string_view field, absl::string_view because) {
    if (!member.has_value()) faults_.push_back({field, absl::StrCat("is missing; needed with ", because)});
  }
  void PerLayer(const std::vector<int64_t>& pattern, absl::string_view field, int64_t wanted) {
    if (pattern.empty() || static_cast<int64_t>(pattern.size()) == wanted) return;
    faults_.push_back({field, absl::StrCat("has ", pattern.size(), " entries; needs one per layer, ", wanted)});
  }

  void Shape() {
    Require(!m_.name.empty(), "name", "is missing");
    Require(m_.num_layers > 0, "num_layers", "is missing");
    Require(m_.hidden_size > 0, "hidden_size", "is missing");
    Require(m_.num_attention_heads > 0, "num_attention_heads", "is missing");
    Require(m_.num_query_groups > 0, "num_query_groups", "is missing");
    Require(m_.vocab_size > 0, "vocab_size", "is missing");
    if (m_.num_query_groups > 0 && m_.num_attention_heads % m_.num_query_groups != 0) {
      faults_.push_back({"num_query_groups", absl::StrCat("is ", m_.num_query_groups, "; needs a divisor of ",
                                                          m_.num_attention_heads, " attention heads")});
    }
  }

  void Experts() {
    PerLayer(m_.moe_layer_freq, "moe_layer_freq", m_.num_layers);
    if (!m_.is_moe()) {
      Require(!m_.moe_router_topk.has_value(), "moe_router_topk", "needs num_moe_experts");
      Require(!m_.moe_ffn_hidden_size.has_value(), "moe_ffn_hidden_size", "needs num_moe_experts");
      Require(m_.moe_layer_freq.empty(), "moe_layer_freq", "needs num_moe_experts");
      if (!m_.hybrid_layer_pattern.has_value()) Needs(m_.ffn_hidden_size, "ffn_hidden_size", "dense layers");
      return;
    }
    Needs(m_.moe_router_topk, "moe_router_topk", "num_moe_experts");
    Needs(m_.moe_ffn_hidden_size, "moe_ffn_hidden_size", "num_moe_experts");
    if (m_.moe_router_topk.value_or(0) > *m_.num_moe_experts) {
      faults_.push_back({"moe_router_topk", absl::StrCat("is ", *m_.moe_router_topk,
                                                         "; needs at most num_moe_experts, ", *m_.num_moe_experts)});
    }
    const bool dense_layers = std::count(m_.moe_layer_freq.begin(), m_.moe_layer_freq.end(), 0) > 0;
    if (dense_layers) Needs(m_.ffn_hidden_size, "ffn_hidden_size", "dense layers in moe_layer_freq");
    Require(!m_.moe_layer_freq.empty() || m_.hybrid_layer_pattern.has_value(), "moe_layer_freq",
            "is missing; needed with num_moe_experts");
  }

  void Attention() {
    const absl::string_view kind = m_.attention;
    PerLayer(m_.window_attn_layers, "window_attn_layers", m_.num_layers);
    if (m_.kv_lora_rank.has_value()) {
      Needs(m_.qk_head_dim, "qk_head_dim", "kv_lora_rank");
      Needs(m_.qk_pos_emb_head_dim, "qk_pos_emb_head_dim", "kv_lora_rank");
      Needs(m_.v_head_dim, "v_head_dim", "kv_lora_rank");
    } else {
      Needs(m_.kv_channels, "kv_channels", "attention without kv_lora_rank");
    }
    if (kind == "mla" || kind == "mla+dsa" || kind == "kda-mla-hybrid") {
      Needs(m_.kv_lora_rank, "kv_lora_rank", absl::StrCat("attention ", kind));
    }
    if (kind == "mla+dsa") {
      Needs(m_.q_lora_rank, "q_lora_rank", "attention mla+dsa");
      Needs(m_.dsa_indexer_n_heads, "dsa_indexer_n_heads", "attention mla+dsa");
      Needs(m_.dsa_indexer_head_dim, "dsa_indexer_head_dim", "attention mla+dsa");
    }
    if (kind == "csa-hybrid") CompressedAttention();
    if (kind == "gqa+block-sparse") {
      Needs(m_.index_n_heads, "index_n_heads", "attention gqa+block-sparse");
      Needs(m_.index_head_dim, "index_head_dim", "attention gqa+block-sparse");
      Needs(m_.num_indexer_layers, "num_indexer_layers", "attention gqa+block-sparse");
    }
    if (kind == "mfa") Needs(m_.mfa_q_rank, "mfa_q_rank", "attention mfa");
    if (kind == "gqa+sliding") Needs(m_.window_size, "window_size", "attention gqa+sliding");
    if (kind == "gqa+chunked") Needs(m_.attention_chunk_size, "attention_chunk_size", "attention gqa+chunked");
  }

  void CompressedAttention() {
    Needs(m_.q_lora_rank, "q_lora_rank", "attention csa-hybrid");
    Needs(m_.o_groups, "o_groups", "attention csa-hybrid");
    Needs(m_.o_lora_rank, "o_lora_rank", "attention csa-hybrid");
    Needs(m_.num_residual_streams, "num_residual_streams", "attention csa-hybrid");
    Needs(m_.dsa_indexer_n_heads, "dsa_indexer_n_heads", "attention csa-hybrid");
    Needs(m_.dsa_indexer_head_dim, "dsa_indexer_head_dim", "attention csa-hybrid");
    const int64_t wanted = m_.num_layers + m_.mtp_num_layers.value_or(0);
    Require(
        static_cast<int64_t>(m_.csa_compress_ratios.size()) == wanted, "csa_compress_ratios",
        absl::StrCat("has ", m_.csa_compress_ratios.size(), " entries; needs one per layer and MTP depth, ", wanted));
    for (int64_t ratio : m_.csa_compress_ratios) {
      if (ratio == 0 || ratio == 4 || ratio == 128) continue;
      faults_.push_back({"csa_compress_ratios", absl::StrCat("holds ", ratio, "; needs 0, 4 or 128")});
      return;
    }
  }

  void Hybrid() {
    PerLayer(m_.linear_attention_freq, "linear_attention_freq", m_.num_layers);
    const bool linear = m_.attention == "linear-hybrid" || m_.attention == "kda-mla-hybrid";
    if (linear) {
      Require(!m_.linear_attention_freq.empty(), "linear_attention_freq", "is missing; needed with linear attention");
      Needs(m_.linear_num_key_heads, "linear_num_key_heads", "linear attention");
      Needs(m_.linear_num_value_heads, "linear_num_value_heads", "linear attention");
      Needs(m_.linear_key_head_dim, "linear_key_head_dim", "linear attention");
      Needs(m_.linear_value_head_dim, "linear_value_head_dim", "linear attention");
      Needs(m_.linear_conv_kernel_dim, "linear_conv_kernel_dim", "linear attention");
    }
    if (m_.attention == "mamba-hybrid") {
      Needs(m_.hybrid_layer_pattern, "hybrid_layer_pattern", "attention mamba-hybrid");
    }
    if (!m_.hybrid_layer_pattern.has_value()) return;
    const std::string& pattern = *m_.hybrid_layer_pattern;
    if (static_cast<int64_t>(pattern.size()) != m_.num_layers) {
      faults_.push_back({"hybrid_layer_pattern",
                         absl::StrCat("has ", pattern.size(), " symbols; needs one per layer, ", m_.num_layers)});
    }
    PatternSymbols(pattern, "hybrid_layer_pattern");
    PatternSymbols(m_.mtp_hybrid_override_pattern.value_or(""), "mtp_hybrid_override_pattern");
  }

  void PatternSymbols(absl::string_view pattern, absl::string_view field) {
    const size_t odd = pattern.find_first_not_of("M*-E");
    if (odd != absl::string_view::npos) {
      const size_t bytes = std::max<size_t>(1, Utf8CharacterBytes(pattern.substr(odd)));
      faults_.push_back({field, absl::StrCat("holds '", absl::Utf8SafeCEscape(pattern.substr(odd, bytes)),
                                             "'; needs M (Mamba), * (attention), - (MLP) or E (MoE)")});
    }
    const auto holds = [&](char symbol) { return absl::StrContains(pattern, symbol); };
    if (holds('M')) {
      Needs(m_.mamba_num_heads, "mamba_num_heads", "M layers");
      Needs(m_.mamba_head_dim, "mamba_head_dim", "M layers");
      Needs(m_.mamba_state_dim, "mamba_state_dim", "M layers");
      Needs(m_.mamba_num_groups, "mamba_num_groups", "M layers");
      Needs(m_.mamba_conv_kernel, "mamba_conv_kernel", "M layers");
    }
    if (holds('-')) Needs(m_.ffn_hidden_size, "ffn_hidden_size", "- layers");
    if (holds('E')) Needs(m_.num_moe_experts, "num_moe_experts", "E layers");
  }

  const ModelSpec& m_;
  std::vector<ModelFault> faults_;
};

}  // namespace

absl::Span<const ModelField> ModelFields() { return kFields; }

const ModelField* FindModelField(absl::string_view name) {
  static const auto* const kByName = [] {
    auto* by_name = new absl::flat_hash_map<absl::string_view, const ModelField*>();
    for (const ModelField& field : kFields) by_name->emplace(field.name, &field);
    return by_name;
  }();
  auto it = kByName->find(name);
  return it == kByName->end() ? nullptr : it->second;
}

absl::Status SetModelField(const ModelField& field, const Value& value, ModelSpec* model) {
  if (!IsPattern(field)) return SetField(field, value, model);
  int64_t every = 0;
  if (value.is_text() && absl::SimpleAtoi(value.text(), &every)) return SetModelField(field, Value(every), model);
  if (value.is_text()) {
    FLIGHTPLAN_ASSIGN_OR_RETURN(std::vector<int64_t> pattern, ExpandLayerPattern(value.text(), kMaxLayers));
    return SetField(field, Value(Value::List(pattern.begin(), pattern.end())), model);
  }
  if (!value.is_int()) return SetField(field, value, model);
  // Megatron's integer N: every N-th layer is MoE, counted from layer 0; every N-th is full attention, counted from 1.
  const int64_t n = value.integer();
  if (n < 1 || n > kMaxLayers) {
    return absl::InvalidArgumentError(absl::StrCat("is ", n, "; needs an integer from 1 to ", kMaxLayers));
  }
  const bool linear = field.name == "linear_attention_freq" || field.name == "window_attn_layers";
  Value::List pattern;
  for (int64_t i = 0; i < model->num_layers; ++i) pattern.push_back(linear ? (i + 1) % n != 0 : i % n == 0);
  for (Value& item : pattern) item = Value(item.truthy() ? 1 : 0);
  return SetField(field, Value(std::move(pattern)), model);
}

std::string FormatPattern(const std::vector<int64_t>& pattern) {
  std::vector<std::string> runs;
  for (size_t i = 0; i < pattern.size();) {
    size_t end = i;
    while (end < pattern.size() && pattern[end] == pattern[i]) ++end;
    runs.push_back(absl::StrCat("[", pattern[i], "]*", end - i));
    i = end;
  }
  std::string best = runs.empty() ? "[]" : absl::StrJoin(runs, "+");
  for (size_t unit = 2; unit <= 8 && unit < pattern.size(); ++unit) {
    if (pattern.size() % unit != 0) continue;
    if (!std::equal(pattern.begin() + static_cast<ptrdiff_t>(unit), pattern.end(), pattern.begin())) continue;
    std::string repeated =
        absl::StrCat("([", absl::StrJoin(pattern.begin(), pattern.begin() + static_cast<ptrdiff_t>(unit), ","), "])*",
                     pattern.size() / unit);
    if (repeated.size() < best.size()) best = std::move(repeated);
    break;
  }
  return best;
}

std::vector<ModelFault> CheckModel(const ModelSpec& model) { return Checker(model).Run(); }

}  // namespace flightplan
