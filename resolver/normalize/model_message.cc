#include "resolver/normalize/model_message.h"

#include <cmath>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "flightplan/v1/model.pb.h"
#include "resolver/base/utf8.h"
#include "resolver/plan/layer_pattern.h"

namespace flightplan {
namespace {

constexpr int64_t kMaxDimension = 1 << 24;
constexpr int64_t kMaxLayers = 10'000;
constexpr int64_t kMaxExperts = 65'536;

// Dimensions that few families have: name in the message -> field.
struct ExtraDimension {
  const char* name;
  std::optional<int64_t> ModelSpec::*field;
};
constexpr ExtraDimension kExtraDimensions[] = {
    {"linear_num_key_heads", &ModelSpec::linear_num_key_heads},
    {"linear_num_value_heads", &ModelSpec::linear_num_value_heads},
    {"linear_key_head_dim", &ModelSpec::linear_key_head_dim},
    {"linear_value_head_dim", &ModelSpec::linear_value_head_dim},
    {"linear_conv_kernel_dim", &ModelSpec::linear_conv_kernel_dim},
    {"mamba_num_heads", &ModelSpec::mamba_num_heads},
    {"mamba_head_dim", &ModelSpec::mamba_head_dim},
    {"mamba_state_dim", &ModelSpec::mamba_state_dim},
    {"mamba_num_groups", &ModelSpec::mamba_num_groups},
    {"mamba_conv_kernel", &ModelSpec::mamba_conv_kernel},
    {"dsa_indexer_n_heads", &ModelSpec::dsa_indexer_n_heads},
    {"dsa_indexer_head_dim", &ModelSpec::dsa_indexer_head_dim},
    {"dsa_indexer_topk", &ModelSpec::dsa_indexer_topk},
    {"window_attn_skip_freq", &ModelSpec::window_attn_skip_freq},
    {"norms_per_layer", &ModelSpec::norms_per_layer},
};

class FieldReader {
 public:
  FieldReader(absl::string_view path, Violations* violations) : path_(path), violations_(violations) {}

  int64_t Required(absl::string_view name, int64_t value, int64_t high) const {
    if (value < 1 || value > high) Bad(name, absl::StrCat("must be 1..", high, ", not ", value));
    return value;
  }
  std::optional<int64_t> Optional(absl::string_view name, bool present, int64_t value, int64_t high) const {
    if (!present) return std::nullopt;
    return Required(name, value, high);
  }
  std::optional<double> OptionalReal(absl::string_view name, bool present, double value) const {
    if (!present) return std::nullopt;
    if (!(std::isfinite(value) && value > 0)) Bad(name, absl::StrCat("must be a positive number, not ", value));
    return value;
  }
  std::string OneOf(absl::string_view name, const std::string& value, absl::string_view standard,
                    std::initializer_list<absl::string_view> known) const {
    if (value.empty()) return std::string(standard);
    for (absl::string_view candidate : known) {
      if (value == candidate) return value;
    }
    Bad(name, absl::StrCat("'", Utf8Prefix(value, 64), "' is not known; use ", absl::StrJoin(known, ", ")));
    return std::string(standard);
  }
  void Bad(absl::string_view name, absl::string_view what) const {
    violations_->Add(absl::StrCat(path_, ".", name), what);
  }

 private:
  absl::string_view path_;
  Violations* violations_;
};

void ReadShape(const v1::ModelSpec& m, const FieldReader& read, ModelSpec* model) {
  model->name = m.name().empty() ? "unnamed" : std::string(Utf8Prefix(m.name(), 128));
  model->family = std::string(Utf8Prefix(m.family(), 128));
  if (!m.hf_id().empty()) model->hf_id = std::string(Utf8Prefix(m.hf_id(), 256));
  if (!m.architecture().empty()) model->architecture = std::string(Utf8Prefix(m.architecture(), 128));
  model->num_layers = read.Required("num_layers", m.num_layers(), kMaxLayers);
  model->hidden_size = read.Required("hidden_size", m.hidden_size(), kMaxDimension);
  if (m.ffn_hidden_size() != 0)
    model->ffn_hidden_size = read.Required("ffn_hidden_size", m.ffn_hidden_size(), kMaxDimension);
  model->num_attention_heads = read.Required("num_attention_heads", m.num_attention_heads(), kMaxDimension);
  model->num_query_groups =
      read.Optional("num_query_groups", m.has_num_query_groups(), m.num_query_groups(), kMaxDimension)
          .value_or(model->num_attention_heads);
  model->kv_channels = read.Optional("kv_channels", m.has_kv_channels(), m.kv_channels(), kMaxDimension);
  model->vocab_size = read.Required("vocab_size", m.vocab_size(), kMaxDimension);
  model->tie_embeddings = m.tie_embeddings();
  model->normalization = read.OneOf("normalization", m.normalization(), "RMSNorm", {"RMSNorm", "LayerNorm"});
  model->activation = read.OneOf("activation", m.activation(), "swiglu",
                                 {"swiglu", "swiglu_oai", "geglu", "geglu_tanh", "squared_relu", "gelu"});
  model->gated_linear_unit = model->activation != "squared_relu" && model->activation != "gelu";
  model->qk_layernorm = m.qk_layernorm();
  model->add_qkv_bias = m.add_qkv_bias();
  model->add_bias_linear = m.add_bias_linear();
  if (m.has_max_position_embeddings()) {
    model->max_position_embeddings =
        read.Required("max_position_embeddings", m.max_position_embeddings(), int64_t{1} << 32);
  }
  model->rotary_base = read.OptionalReal("rotary_base", m.has_rotary_base(), m.rotary_base());
  model->rotary_percent = read.OptionalReal("rotary_percent", m.has_rotary_percent(), m.rotary_percent());
  if (m.has_rope_scaling_type()) model->rope_scaling_type = std::string(Utf8Prefix(m.rope_scaling_type(), 64));
  model->window_size = read.Optional("window_size", m.has_window_size(), m.window_size(), kMaxDimension);
}

void ReadAttention(const v1::ModelSpec& m, const FieldReader& read, ModelSpec* model) {
  model->attention = read.OneOf("attention", m.attention(), m.has_kv_lora_rank() ? "mla" : "gqa",
                                {"mha", "gqa", "gqa+sliding", "mla", "mla+dsa", "linear-hybrid", "mamba-hybrid"});
  model->q_lora_rank = read.Optional("q_lora_rank", m.has_q_lora_rank(), m.q_lora_rank(), kMaxDimension);
  model->kv_lora_rank = read.Optional("kv_lora_rank", m.has_kv_lora_rank(), m.kv_lora_rank(), kMaxDimension);
  model->qk_head_dim = read.Optional("qk_head_dim", m.has_qk_head_dim(), m.qk_head_dim(), kMaxDimension);
  model->qk_pos_emb_head_dim =
      read.Optional("qk_pos_emb_head_dim", m.has_qk_pos_emb_head_dim(), m.qk_pos_emb_head_dim(), kMaxDimension);
  model->v_head_dim = read.Optional("v_head_dim", m.has_v_head_dim(), m.v_head_dim(), kMaxDimension);
  const bool mla = model->attention == "mla" || model->attention == "mla+dsa";
  if (mla && !(model->kv_lora_rank && model->qk_head_dim && model->qk_pos_emb_head_dim && model->v_head_dim)) {
    read.Bad("attention", "mla needs kv_lora_rank, qk_head_dim, qk_pos_emb_head_dim and v_head_dim");
  }
}

// "1" or "2" (every n-th layer), or a list pattern. Empty: every layer.
std::vector<int64_t> ReadLayerFreq(const v1::ModelSpec& m, const FieldReader& read, int64_t layers) {
  if (layers < 1 || layers > kMaxLayers) return {};
  int64_t every = 1;
  if (m.moe_layer_freq().empty() || absl::SimpleAtoi(m.moe_layer_freq(), &every)) {
    if (every < 1) {
      read.Bad("moe_layer_freq", "must be at least 1");
      return {};
    }
    std::vector<int64_t> freq(static_cast<size_t>(layers));
    for (size_t i = 0; i < freq.size(); ++i) freq[i] = static_cast<int64_t>(i) % every == 0 ? 1 : 0;
    return freq;
  }
  auto pattern = ExpandLayerPattern(m.moe_layer_freq(), kMaxLayers);
  if (!pattern.ok()) {
    read.Bad("moe_layer_freq", pattern.status().message());
    return {};
  }
  if (static_cast<int64_t>(pattern->size()) != layers) {
    read.Bad("moe_layer_freq", absl::StrCat("has ", pattern->size(), " layers, num_layers says ", layers));
  }
  return *std::move(pattern);
}

void ReadMoe(const v1::ModelSpec& m, const FieldReader& read, ModelSpec* model) {
  model->mtp_num_layers = read.Optional("mtp_num_layers", m.has_mtp_num_layers(), m.mtp_num_layers(), 64);
  model->num_moe_experts = read.Optional("num_moe_experts", m.has_num_moe_experts(), m.num_moe_experts(), kMaxExperts);
  if (!model->is_moe()) {
    if (m.has_moe_router_topk()) read.Bad("num_moe_experts", "is required with moe_router_topk");
    return;
  }
  model->moe_router_topk = read.Required("moe_router_topk", m.moe_router_topk(), *model->num_moe_experts);
  model->moe_ffn_hidden_size = read.Required("moe_ffn_hidden_size", m.moe_ffn_hidden_size(), kMaxDimension);
  model->moe_shared_expert_intermediate_size =
      read.Optional("moe_shared_expert_intermediate_size", m.has_moe_shared_expert_intermediate_size(),
                    m.moe_shared_expert_intermediate_size(), kMaxDimension);
  model->moe_shared_expert_gate = m.moe_shared_expert_gate();
  model->moe_latent_size =
      read.Optional("moe_latent_size", m.has_moe_latent_size(), m.moe_latent_size(), kMaxDimension);
  model->moe_layer_freq = ReadLayerFreq(m, read, model->num_layers);
  model->moe_router_score_function = read.OneOf("moe_router_score_function", m.moe_router_score_function(), "softmax",
                                                {"softmax", "sigmoid", "sqrtsoftplus"});
  if (m.has_moe_router_pre_softmax()) model->moe_router_pre_softmax = m.moe_router_pre_softmax();
  model->moe_router_enable_expert_bias = m.moe_router_enable_expert_bias();
  model->moe_router_num_groups =
      read.Optional("moe_router_num_groups", m.has_moe_router_num_groups(), m.moe_router_num_groups(), kMaxExperts);
  model->moe_router_group_topk =
      read.Optional("moe_router_group_topk", m.has_moe_router_group_topk(), m.moe_router_group_topk(), kMaxExperts);
  model->moe_router_topk_scaling_factor = read.OptionalReal(
      "moe_router_topk_scaling_factor", m.has_moe_router_topk_scaling_factor(), m.moe_router_topk_scaling_factor());
}

}  // namespace

ModelSpec ModelFromMessage(const v1::ModelSpec& message, absl::string_view field, Violations* violations) {
  const FieldReader read(field, violations);
  ModelSpec model;
  ReadShape(message, read, &model);
  ReadAttention(message, read, &model);
  ReadMoe(message, read, &model);
  for (const auto& [name, value] : message.extra_dimensions()) {
    const ExtraDimension* found = nullptr;
    for (const ExtraDimension& extra : kExtraDimensions) {
      if (name == extra.name) found = &extra;
    }
    const std::string path = absl::StrCat("extra_dimensions[", Utf8Prefix(name, 64), "]");
    if (found == nullptr) {
      read.Bad(path, absl::StrCat("is not known; known are ",
                                  absl::StrJoin(kExtraDimensions, ", ", [](std::string* out, const ExtraDimension& e) {
                                    absl::StrAppend(out, e.name);
                                  })));
    } else if (!(value >= 1 && value <= static_cast<double>(kMaxDimension))) {
      read.Bad(path, absl::StrCat("must be 1..", kMaxDimension, ", not ", value));
    } else {
      model.*found->field = static_cast<int64_t>(value);
    }
  }
  return model;
}

}  // namespace flightplan
