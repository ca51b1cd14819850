#include "resolver/derive/model_from_knobs.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "resolver/derive/model_knobs.h"
#include "resolver/derive/target_knobs.h"
#include "resolver/plan/model_fields.h"

namespace flightplan {
namespace {

using K = Knob;

constexpr int64_t kMostLayers = 65'535;

// Of a list with one entry a layer.
bool Listed(const Value& frequency, int64_t layer) {
  const auto at = static_cast<size_t>(layer);
  return at < frequency.list().size() && frequency.list()[at].truthy();
}

class Reader {
 public:
  explicit Reader(const Config& config) : c_(config) {}

  absl::StatusOr<ModelSpec> Run(std::optional<Knob>* missing) {
    m_.name = "of the configuration";
    Pattern();
    if (!m_.hybrid_layer_pattern.has_value()) m_.num_layers = Required(K::num_layers);
    m_.hidden_size = Required(K::hidden_size);
    m_.num_attention_heads = Required(K::num_attention_heads);
    Vocabulary();
    Blocks();
    Attention();
    Experts();
    if (c_.Get(K::mtp_num_layers).is_int() && !m_.mtp_num_layers.has_value())
      m_.mtp_num_layers = c_.Get(K::mtp_num_layers).integer();
    if (!missing_.empty()) {
      if (missing != nullptr) *missing = missing_knob_;
      return absl::NotFoundError(missing_);
    }
    TooLarge();
    if (!unknown_.empty()) return absl::UnimplementedError(unknown_);
    return std::move(m_);
  }

 private:
  std::optional<int64_t> Size(Knob knob) const {
    const Value& value = c_.Get(knob);
    if (!value.is_int() || value.is_bool() || value.integer() <= 0) return std::nullopt;
    return value.integer();
  }
  int64_t Required(Knob knob) {
    const std::optional<int64_t> size = Size(knob);
    if (!size.has_value()) Lack(knob, absl::StrCat(Name(knob), " is not given"));
    return size.value_or(0);
  }
  void Lack(Knob knob, std::string why) {
    if (!missing_.empty()) return;
    missing_ = std::move(why);
    missing_knob_ = knob;
  }
  // The formulas count with models as the catalogue may hold them; the stack itself takes any size.
  void TooLarge() {
    for (const ModelField& field : ModelFields()) {
      int64_t size = 0;
      if (const auto* plain = std::get_if<int64_t ModelSpec::*>(&field.member)) size = m_.*(*plain);
      if (const auto* open = std::get_if<std::optional<int64_t> ModelSpec::*>(&field.member)) {
        size = (m_.*(*open)).value_or(0);
      }
      if (size > field.max)
        unknown_ = absl::StrCat(field.name, " is ", size, ": models up to ", field.max, " are weighed");
    }
  }
  bool On(Knob knob) const { return c_.Get(knob).truthy(); }

  void Vocabulary() {
    // Megatron-LM's flag stands for the tokenizer's size; a padded one is only larger.
    std::optional<int64_t> size = Size(K::vocab_size);
    if (!size.has_value()) size = Size(K::padded_vocab_size);
    if (!size.has_value()) Lack(K::vocab_size, "vocab_size is not given: the tokenizer says it when the run starts");
    m_.vocab_size = size.value_or(0);
    const bool untied = On(K::untie_embeddings_and_output_weights);
    const Value& shared = c_.Get(K::share_embeddings_and_output_weights);
    m_.tie_embeddings = shared.is_bool() ? shared.truthy() && !untied : !untied;
  }

  void Blocks() {
    m_.ffn_hidden_size = Size(K::ffn_hidden_size);
    m_.normalization = c_.Get(K::normalization).is_text() ? c_.Get(K::normalization).ToText() : "LayerNorm";
    m_.gated_linear_unit = On(K::gated_linear_unit) || On(K::swiglu);
    m_.activation = std::string(ActivationOf(c_.Get(K::activation_func).text(), m_.gated_linear_unit));
    if (m_.activation.empty()) {
      m_.activation = m_.gated_linear_unit ? "swiglu" : On(K::squared_relu) ? "squared_relu" : "gelu";
    }
    // Megatron-Core gives every projection a bias by one field.
    m_.add_bias_linear = m_.attn_out_bias = m_.mlp_bias_dense = m_.expert_bias_terms = On(K::add_bias_linear);
    m_.add_qkv_bias = On(K::add_qkv_bias) || On(K::add_bias_linear);
    if (c_.Get(K::position_embedding_type).text() == "learned_absolute") {
      m_.learned_positions = Size(K::max_position_embeddings);
    }
  }

  // Mamba and its kin: a symbol a layer, '|' between pipeline stages, each MTP depth after a slash.
  void Pattern() {
    const Value& whole = c_.Get(K::hybrid_layer_pattern);
    const Value& body = whole.is_text() ? whole : c_.Get(K::hybrid_override_pattern);
    if (!body.is_text()) {
      if (On(K::is_hybrid_model)) unknown_ = "is_hybrid_model without a layer pattern: the stack is not weighed";
      return;
    }
    std::vector<std::string> parts = absl::StrSplit(body.text(), '/');
    for (std::string& part : parts) absl::StrReplaceAll({{"|", ""}}, &part);
    m_.attention = "mamba-hybrid";
    m_.hybrid_layer_pattern = parts[0];
    m_.num_layers = static_cast<int64_t>(parts[0].size());
    if (m_.num_layers == 0) Lack(K::hybrid_layer_pattern, "the hybrid layer pattern names no layer");
    if (parts.size() > 1) {
      m_.mtp_hybrid_override_pattern = parts[1];
      m_.mtp_num_layers = static_cast<int64_t>(parts.size()) - 1;
    } else if (c_.Get(K::mtp_hybrid_override_pattern).is_text()) {
      m_.mtp_hybrid_override_pattern = c_.Get(K::mtp_hybrid_override_pattern).ToText();
    }
    if (!absl::StrContains(parts[0], 'M')) return;
    m_.mamba_head_dim = Size(K::mamba_head_dim);
    m_.mamba_state_dim = Size(K::mamba_state_dim);
    m_.mamba_num_groups = Size(K::mamba_num_groups);
    m_.mamba_num_heads = Size(K::mamba_num_heads);
    if (!m_.mamba_num_heads.has_value()) {
      // Megatron-Core ssm/mamba_mixer.py: the inner width is twice the hidden size.
      const int64_t head = m_.mamba_head_dim.value_or(64);
      m_.mamba_num_heads = 2 * Required(K::hidden_size) / head;
    }
    m_.mamba_conv_kernel = 4;  // d_conv of the same file; no flag changes it
  }

  void Attention() {
    m_.num_query_groups = Size(K::num_query_groups).value_or(m_.num_attention_heads);
    m_.kv_channels = Size(K::kv_channels);
    m_.qk_layernorm = On(K::qk_layernorm);
    m_.qk_layernorm_kind = On(K::multi_latent_attention) ? "mla_latent" : "per_head";
    if (!*m_.qk_layernorm) m_.qk_layernorm_kind.reset();
    if (const Value& softmax = c_.Get(K::softmax_type); softmax.is_text()) m_.softmax_type = softmax.ToText();
    const Value& window = c_.Get(K::window_size);
    m_.window_size = SeenTokens(window);
    if (m_.window_size.has_value()) WindowedLayers();
    if (On(K::multi_latent_attention)) {
      m_.attention = "mla";
      m_.kv_channels.reset();
      m_.q_lora_rank = Size(K::q_lora_rank);
      m_.kv_lora_rank = Required(K::kv_lora_rank);
      m_.qk_head_dim = Required(K::qk_head_dim);
      m_.qk_pos_emb_head_dim = Required(K::qk_pos_emb_head_dim);
      m_.v_head_dim = Required(K::v_head_dim);
    }
    m_.attention_output_gate = On(K::attention_output_gate);
    if (OwnDeltaNet(c_)) {
      m_.attention_output_gate = true;
      return GatedDelta(kOwnFullAttentionInterval);
    }
    const Value& variant = c_.Get(K::experimental_attention_variant);
    if (!variant.is_text()) return;
    const absl::string_view name = variant.text();
    if (name == "gated_delta_net" || name == "gdn") return GatedDelta(/*usual=*/0);
    if (name == "dsa" && On(K::multi_latent_attention)) return SparseIndexer();
    unknown_ = absl::StrCat("experimental_attention_variant=", name, ": this attention is not weighed");
  }

  // One layer in so many without a window, or a list with one entry a layer, which is true where it has one
  // (Megatron-Core core/transformer/utils.py:530).
  void WindowedLayers() {
    const Value& frequency = c_.Get(K::window_attn_skip_freq);
    if (!frequency.is_list()) {
      m_.window_attn_skip_freq = Size(K::window_attn_skip_freq);
      return;
    }
    for (int64_t i = 0; i < std::min(m_.num_layers, kMostLayers); ++i) {
      m_.window_attn_layers.push_back(Listed(frequency, i) ? 1 : 0);
    }
  }

  // The sizes of the layers that are no softmax attention, and which these are: all but every linear_attention_freq-th,
  // or a list with one entry a layer (Megatron-Core
  // models/gpt/experimental_attention_variant_module_specs.py:459). `usual`: where nothing says which.
  void GatedDelta(int64_t usual) {
    m_.attention = "linear-hybrid";
    m_.linear_num_key_heads = Required(K::linear_num_key_heads);
    m_.linear_num_value_heads = Required(K::linear_num_value_heads);
    m_.linear_key_head_dim = Required(K::linear_key_head_dim);
    m_.linear_value_head_dim = Required(K::linear_value_head_dim);
    m_.linear_conv_kernel_dim = Required(K::linear_conv_kernel_dim);
    const Value& frequency = c_.Get(K::linear_attention_freq);
    const int64_t every = frequency.is_int() ? frequency.integer() : usual;
    if (!frequency.is_list() && every < 1) return Lack(K::linear_attention_freq, "linear_attention_freq is not given");
    for (int64_t i = 0; i < std::min(m_.num_layers, kMostLayers); ++i) {
      m_.linear_attention_freq.push_back((frequency.is_list() ? Listed(frequency, i) : (i + 1) % every != 0) ? 1 : 0);
    }
  }

  // What DeepSeek Sparse Attention has beside latent attention.
  void SparseIndexer() {
    m_.attention = "mla+dsa";
    m_.dsa_indexer_n_heads = Required(K::dsa_indexer_n_heads);
    m_.dsa_indexer_head_dim = Required(K::dsa_indexer_head_dim);
    m_.dsa_indexer_topk = Required(K::dsa_indexer_topk);
    m_.dsa_indexer_topk_freq = Size(K::dsa_indexer_topk_freq);
    m_.dsa_indexer_skip_topk_offset = Size(K::dsa_indexer_skip_topk_offset);
  }

  void Experts() {
    m_.num_moe_experts = Size(K::num_moe_experts);
    if (!m_.is_moe()) return;
    m_.moe_router_topk = Size(K::moe_router_topk).value_or(2);
    m_.moe_ffn_hidden_size = Size(K::moe_ffn_hidden_size);
    if (!m_.moe_ffn_hidden_size.has_value()) m_.moe_ffn_hidden_size = m_.ffn_hidden_size;
    m_.moe_shared_expert_intermediate_size = Size(K::moe_shared_expert_intermediate_size);
    m_.moe_shared_expert_gate = On(K::moe_shared_expert_gate) || OwnDeltaNet(c_);
    m_.moe_latent_size = Size(K::moe_latent_size);
    m_.moe_router_num_groups = Size(K::moe_router_num_groups);
    if (m_.moe_router_num_groups.has_value()) m_.moe_router_group_topk = Size(K::moe_router_group_topk);
    m_.moe_router_enable_expert_bias = On(K::moe_router_enable_expert_bias);
    if (m_.hybrid_layer_pattern.has_value()) return;  // the pattern says it
    m_.moe_layer_freq = MoeLayers(c_.Get(K::moe_layer_freq), m_.num_layers);
  }

  const Config& c_;
  ModelSpec m_;
  std::string missing_, unknown_;  // the first of each
  Knob missing_knob_{};            // of `missing_`
};

}  // namespace

absl::StatusOr<ModelSpec> ModelFromKnobs(const Config& config, std::optional<Knob>* missing) {
  return Reader(config).Run(missing);
}

std::vector<int64_t> MoeLayers(const Value& frequency, int64_t layers) {
  const int64_t every = frequency.is_int() ? frequency.integer() : 1;
  std::vector<int64_t> moe;
  for (int64_t i = 0; i < std::min(layers, kMostLayers); ++i) {
    moe.push_back((frequency.is_list() ? Listed(frequency, i) : every <= 0 || i % every == 0) ? 1 : 0);
  }
  return moe;
}

std::optional<int64_t> SeenTokens(const Value& window) {
  const bool sized = window.is_list() && window.list().size() == 2 && window.list()[0].is_int();
  if (!sized || window.list()[0].integer() < 0) return std::nullopt;  // -1 to the left: all of them
  return std::min(window.list()[0].integer(), INT64_MAX - 1) + 1;
}

}  // namespace flightplan
