// Families whose layers are of several kinds: linear attention or Mamba beside attention.
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "resolver/base/status_macros.h"
#include "resolver/base/utf8.h"
#include "resolver/normalize/hf_families.h"

namespace flightplan {
namespace {

// Megatron's symbols, from a text of them or from a list of the layers' kinds. Empty: the file has neither.
absl::StatusOr<std::string> HybridPattern(HfReader& r, absl::string_view symbols, absl::string_view kinds) {
  FLIGHTPLAN_ASSIGN_OR_RETURN(std::string pattern, r.Text(symbols, ""));
  if (!pattern.empty()) return pattern;
  FLIGHTPLAN_ASSIGN_OR_RETURN(std::vector<std::string> types, r.Texts(kinds));
  for (const std::string& type : types) {
    const char symbol = type == "mamba"       ? 'M'
                        : type == "attention" ? '*'
                        : type == "moe"       ? 'E'
                        : type == "mlp"       ? '-'
                                              : '\0';
    if (symbol == '\0') {
      return r.Error(kinds, absl::StrCat("holds '", Utf8Prefix(type, 60), "'; needs mamba, attention, moe or mlp"));
    }
    pattern += symbol;
  }
  return pattern;
}

}  // namespace

namespace hf {

absl::Status LinearLayers(HfReader& r) {
  FLIGHTPLAN_ASSIGN_OR_RETURN(std::vector<std::string> types, r.Texts("layer_types"));
  std::vector<int64_t> flags;
  flags.reserve(types.size());
  absl::string_view path = "layer_types";
  for (const std::string& type : types) flags.push_back(type == "linear_attention" ? 1 : 0);
  if (types.empty()) {
    path = "full_attention_interval";
    FLIGHTPLAN_ASSIGN_OR_RETURN(int64_t interval, r.Int(path, 4, 1, kMaxLayers));
    for (int64_t i = 0; i < r.model().num_layers; ++i) flags.push_back((i + 1) % interval == 0 ? 0 : 1);
  }
  r.model().num_linear_attention_layers = std::count(flags.begin(), flags.end(), 1);
  return r.Set("linear_attention_freq", Flags(flags), path);
}

absl::Status NemotronHybrid(HfReader& r) {
  ModelSpec& m = r.model();
  m.rotary_base.reset();
  m.rotary_percent.reset();
  FLIGHTPLAN_ASSIGN_OR_RETURN(std::string pattern, HybridPattern(r, "hybrid_override_pattern", "layers_block_type"));
  if (pattern.empty()) return r.Error("hybrid_override_pattern", "is missing; needs it or layers_block_type");
  m.hybrid_layer_pattern = pattern;
  if (!r.Has("num_hidden_layers")) m.num_layers = static_cast<int64_t>(pattern.size());
  if (!absl::StrContains(pattern, 'E')) return absl::OkStatus();
  const std::pair<absl::string_view, Value> kMoe[] = {{"moe_aux_loss_coeff", Value(0.0001)},
                                                      {"moe_router_score_function", Value("sigmoid")},
                                                      {"moe_router_pre_softmax", Value(false)},
                                                      {"moe_router_enable_expert_bias", Value(true)},
                                                      {"moe_router_load_balancing_type", Value("seq_aux_loss")},
                                                      {"moe_router_dtype", Value("fp32")}};
  for (const auto& [field, value] : kMoe) FLIGHTPLAN_RETURN_IF_ERROR(r.Set(field, value, field));
  FLIGHTPLAN_ASSIGN_OR_RETURN(std::string mtp,
                              HybridPattern(r, "mtp_hybrid_override_pattern", "mtp_layers_block_type"));
  if (m.mtp_num_layers.has_value() && mtp.empty()) {
    return r.Error("mtp_hybrid_override_pattern",
                   "is missing; needs it or mtp_layers_block_type with num_nextn_predict_layers");
  }
  if (!m.mtp_num_layers.has_value()) return absl::OkStatus();
  m.mtp_hybrid_override_pattern = mtp;
  FLIGHTPLAN_ASSIGN_OR_RETURN(bool repeated, r.Bool("mtp_use_repeated_layer", true));
  FLIGHTPLAN_ASSIGN_OR_RETURN(double scaling, r.Real("mtp_loss_scaling_factor", 0.3));
  FLIGHTPLAN_RETURN_IF_ERROR(r.Set("mtp_use_repeated_layer", Value(repeated), "mtp_use_repeated_layer"));
  return r.Set("mtp_loss_scaling_factor", Value(scaling), "mtp_loss_scaling_factor");
}

// Kimi-Linear and Kimi-K3: delta attention on most layers, MLA without rotary positions on the rest.
absl::Status KimiHybrid(HfReader& r) {
  ModelSpec& m = r.model();
  m.attention = "kda-mla-hybrid";
  m.rotary_base.reset();
  m.rotary_percent.reset();
  FLIGHTPLAN_ASSIGN_OR_RETURN(std::vector<int64_t> linear, r.Ints("linear_attn_config.kda_layers"));
  std::vector<int64_t> flags(static_cast<size_t>(m.num_layers), 0);
  for (int64_t layer : linear) {  // counted from 1
    if (layer < 1 || layer > m.num_layers) {
      return r.Error("linear_attn_config.kda_layers",
                     absl::StrCat("holds ", layer, "; needs layers from 1 to ", m.num_layers));
    }
    flags[static_cast<size_t>(layer) - 1] = 1;
  }
  m.num_linear_attention_layers = std::count(flags.begin(), flags.end(), 1);
  FLIGHTPLAN_RETURN_IF_ERROR(r.Set("linear_attention_freq", Flags(flags), "linear_attn_config.kda_layers"));
  FLIGHTPLAN_ASSIGN_OR_RETURN(int64_t heads, r.RequiredInt("linear_attn_config.num_heads", 1, 65536));
  FLIGHTPLAN_ASSIGN_OR_RETURN(int64_t size, r.RequiredInt("linear_attn_config.head_dim", 1, 65536));
  m.linear_num_key_heads = m.linear_num_value_heads = heads;
  m.linear_key_head_dim = m.linear_value_head_dim = size;
  FLIGHTPLAN_ASSIGN_OR_RETURN(m.linear_conv_kernel_dim,
                              r.RequiredInt("linear_attn_config.short_conv_kernel_size", 1, 1024));

  FLIGHTPLAN_RETURN_IF_ERROR(SetSharedExperts(r, "moe_intermediate_size", "num_shared_experts", 1));
  FLIGHTPLAN_ASSIGN_OR_RETURN(int64_t frequency, r.Int("moe_layer_freq", 1, 1, kMaxLayers));
  std::vector<int64_t> moe;
  for (int64_t i = 0; i < m.num_layers; ++i) moe.push_back(i >= m.first_k_dense.value_or(0) && i % frequency == 0);
  FLIGHTPLAN_RETURN_IF_ERROR(r.Set("moe_layer_freq", Flags(moe), "moe_layer_freq"));
  FLIGHTPLAN_ASSIGN_OR_RETURN(bool grouped, r.Bool("use_grouped_topk", false));
  if (!grouped) {
    m.moe_router_num_groups.reset();
    m.moe_router_group_topk.reset();
    return absl::OkStatus();
  }
  FLIGHTPLAN_ASSIGN_OR_RETURN(m.moe_router_num_groups, r.RequiredInt("num_expert_group", 1, 65536));
  FLIGHTPLAN_ASSIGN_OR_RETURN(m.moe_router_group_topk, r.RequiredInt("topk_group", 1, 65536));
  return absl::OkStatus();
}

absl::Status KimiK3(HfReader& r) {
  ModelSpec& m = r.model();
  FLIGHTPLAN_ASSIGN_OR_RETURN(m.moe_latent_size, r.RequiredInt("routed_expert_hidden_size", 1, kMaxSize));
  FLIGHTPLAN_ASSIGN_OR_RETURN(m.latent_norm, r.Bool("latent_moe_use_norm", false));
  FLIGHTPLAN_ASSIGN_OR_RETURN(m.mla_output_gate, r.Bool("mla_use_output_gate", false));
  FLIGHTPLAN_ASSIGN_OR_RETURN(m.kda_full_gate, r.Bool("linear_attn_config.use_full_rank_gate", false));
  return absl::OkStatus();
}

// Granite 4: each layer is Mamba or attention and then experts, or one MLP where it has none; Megatron counts both.
absl::Status GraniteHybrid(HfReader& r) {
  ModelSpec& m = r.model();
  FLIGHTPLAN_ASSIGN_OR_RETURN(const int64_t experts, r.Int("num_local_experts", 8, 0, kMaxHeads));
  FLIGHTPLAN_ASSIGN_OR_RETURN(const int64_t shared, r.Int("shared_intermediate_size", 1024, 0, kMaxSize));
  if (experts > 0) {
    FLIGHTPLAN_RETURN_IF_ERROR(r.Set("num_moe_experts", Value(experts), "num_local_experts"));
    FLIGHTPLAN_RETURN_IF_ERROR(r.Set("moe_ffn_hidden_size", Value(m.ffn_hidden_size.value_or(0)), "intermediate_size"));
    if (shared > 0) m.moe_shared_expert_intermediate_size = shared;
  } else {
    FLIGHTPLAN_RETURN_IF_ERROR(r.Set("ffn_hidden_size", Value(shared), "shared_intermediate_size"));
  }
  FLIGHTPLAN_ASSIGN_OR_RETURN(std::vector<std::string> types, r.Texts("layer_types"));
  if (types.empty()) types.assign(static_cast<size_t>(m.num_layers), "mamba");
  if (types.size() != static_cast<size_t>(m.num_layers)) {
    return r.Error("layer_types",
                   absl::StrCat("has ", types.size(), " entries; needs one for each of ", m.num_layers, " layers"));
  }
  std::string pattern;
  for (const std::string& type : types) {
    absl::StrAppend(&pattern, type == "attention" ? "*" : "M", experts > 0 ? "E" : "-");
  }
  r.Note(absl::StrCat("its ", types.size(), " layers are ", pattern.size(),
                      " here: Megatron's pattern counts attention or Mamba and the MLP or experts behind it apart"));
  FLIGHTPLAN_RETURN_IF_ERROR(r.Set("num_layers", Value(2 * m.num_layers), "num_hidden_layers"));
  m.hybrid_layer_pattern = pattern;
  FLIGHTPLAN_ASSIGN_OR_RETURN(const std::string positions, r.Text("position_embedding_type", "nope"));
  if (positions != "rope") {
    m.position_embedding_type = "none";
    m.rotary_base.reset();
    m.rotary_percent.reset();
  }
  const rapidjson::Value* head = r.Find("mamba_d_head");
  if (head == nullptr || !head->IsInt64()) {
    FLIGHTPLAN_ASSIGN_OR_RETURN(const int64_t expand, r.Int("mamba_expand", 2, 1, 1024));
    const int64_t inner = expand * m.hidden_size;
    return r.Set("mamba_head_dim", Value(inner / std::max<int64_t>(1, m.mamba_num_heads.value_or(1))), "mamba_expand");
  }
  FLIGHTPLAN_ASSIGN_OR_RETURN(m.mamba_head_dim, r.RequiredInt("mamba_d_head", 1, kMaxHeads));
  return absl::OkStatus();
}

}  // namespace hf
}  // namespace flightplan
