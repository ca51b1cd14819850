// What no single key of a config.json says.
#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "resolver/base/status_macros.h"
#include "resolver/base/utf8.h"
#include "resolver/normalize/hf_families.h"

namespace flightplan {
namespace {

// A pattern with one entry a layer from a predicate on the layer's index from 0.
template <class Pred>
Value Pattern(int64_t layers, Pred on) {
  std::vector<int64_t> flags;
  for (int64_t i = 0; i < layers; ++i) flags.push_back(on(i) ? 1 : 0);
  return hf::Flags(flags);
}

// How many shared experts there are. null is none; a file that leaves the key out means what its class has by itself.
absl::StatusOr<int64_t> SharedCount(HfReader& r, absl::string_view path, int64_t fallback) {
  const rapidjson::Value* node = r.Find(path);
  return r.Int(path, node == nullptr ? fallback : 0, 0, 1024);
}

// The kinds of the layers' MLPs, one flag a layer: all but "dense" have experts. Empty: the file does not say.
absl::StatusOr<std::vector<int64_t>> MlpLayerTypes(HfReader& r) {
  FLIGHTPLAN_ASSIGN_OR_RETURN(std::vector<std::string> types, r.Texts("mlp_layer_types"));
  std::vector<int64_t> flags;
  flags.reserve(types.size());
  for (const std::string& type : types) flags.push_back(type == "dense" ? 0 : 1);
  return flags;
}

}  // namespace

namespace hf {

Value Flags(const std::vector<int64_t>& flags) { return Value(Value::List(flags.begin(), flags.end())); }

absl::Status SetSharedExperts(HfReader& r, absl::string_view width_path, absl::string_view count_path,
                              int64_t fallback_count) {
  FLIGHTPLAN_ASSIGN_OR_RETURN(int64_t width, r.Int(width_path, 0, 0, kMaxSize));
  FLIGHTPLAN_ASSIGN_OR_RETURN(int64_t count, SharedCount(r, count_path, fallback_count));
  if (width * count == 0) return absl::OkStatus();
  return r.Set("moe_shared_expert_intermediate_size", Value(width * count), count_path);
}

// Multi-latent attention: one KV group per head, norms on the latents; head_dim of such files means something else.
absl::Status Latent(HfReader& r) {
  ModelSpec& m = r.model();
  m.attention = "mla";
  m.kv_channels.reset();
  m.num_query_groups = m.num_attention_heads;
  m.qk_layernorm = true;
  m.qk_layernorm_kind = "mla_latent";
  if (!m.kv_lora_rank.has_value()) m.kv_lora_rank = 512;
  if (!m.qk_head_dim.has_value()) m.qk_head_dim = 128;
  if (!m.qk_pos_emb_head_dim.has_value()) m.qk_pos_emb_head_dim = 64;
  if (!m.v_head_dim.has_value()) m.v_head_dim = 128;
  if (m.rope_scaling_type.has_value()) return absl::OkStatus();
  // Megatron's MLA classes would otherwise scale by 40.
  FLIGHTPLAN_RETURN_IF_ERROR(r.Set("rotary_scaling_factor", Value(1.0), "rope_scaling"));
  return r.Set("mscale_all_dim", Value(1.0), "rope_scaling");
}

absl::Status EveryLayerMoe(HfReader& r) {
  const ModelSpec& m = r.model();
  return r.Set("moe_layer_freq", Pattern(m.num_layers, [](int64_t) { return true; }), "num_hidden_layers");
}

// By a list with one entry a layer, or else by how many layers at the front are dense.
absl::Status FirstLayersDense(HfReader& r) {
  const ModelSpec& m = r.model();
  FLIGHTPLAN_ASSIGN_OR_RETURN(const std::vector<int64_t> types, MlpLayerTypes(r));
  if (!types.empty()) return r.Set("moe_layer_freq", Flags(types), "mlp_layer_types");
  if (const rapidjson::Value* node = r.Find("moe_layer_freq"); node != nullptr && node->IsArray()) {
    FLIGHTPLAN_ASSIGN_OR_RETURN(const std::vector<int64_t> listed, r.Ints("moe_layer_freq"));
    return r.Set("moe_layer_freq", Flags(listed), "moe_layer_freq");
  }
  const absl::string_view path = r.Has("num_dense_layers") ? "num_dense_layers" : "first_k_dense_replace";
  const int64_t dense = m.first_k_dense.value_or(0);
  if (dense > m.num_layers) {
    return r.Error(path, absl::StrCat("is ", dense, "; needs at most ", m.num_layers, " layers"));
  }
  FLIGHTPLAN_ASSIGN_OR_RETURN(int64_t step, r.Int("moe_layer_freq", 1, 1, kMaxLayers));
  if (step > 1) {
    r.Note(absl::StrCat("its moe_layer_freq of ", step, " puts experts into each layer behind the first ", dense,
                        " whose number divides by ", step, ", as DeepSeek's own code does; Megatron-Bridge's converter",
                        " does not read it and makes them in all of these layers"));
  }
  return r.Set("moe_layer_freq", Pattern(m.num_layers, [&](int64_t i) { return i >= dense && i % step == 0; }),
               step > 1 ? "moe_layer_freq" : path);
}

absl::Status SharedExperts(HfReader& r) {
  const absl::string_view count = r.Find("num_shared_experts") != nullptr ? "num_shared_experts" : "n_shared_experts";
  return SetSharedExperts(r, "moe_intermediate_size", count, 1);
}

// One shared expert of the routed width, whatever the count says: upstream reads it so.
absl::Status SharedLikeRouted(HfReader& r) {
  FLIGHTPLAN_ASSIGN_OR_RETURN(int64_t width, r.RequiredInt("moe_intermediate_size", 1, kMaxSize));
  if (r.model().qk_layernorm.value_or(false)) r.model().qk_layernorm_kind = "per_head";
  for (absl::string_view path : {"n_shared_experts", "num_shared_experts"}) {
    FLIGHTPLAN_ASSIGN_OR_RETURN(const int64_t count, r.Int(path, 1, 0, 1024));
    if (count != 1) {
      r.Note(absl::StrCat("its ", path, " of ", count,
                          " is not carried over: one shared expert of the routed width is "
                          "counted, which is what Megatron-Bridge's converter makes"));
    }
  }
  return r.Set("moe_shared_expert_intermediate_size", Value(width), "moe_intermediate_size");
}

// Renormalised top-k weights equal a softmax over the selected logits, that is: no softmax before the selection.
absl::Status NormalizedTopk(HfReader& r) {
  const bool qwen2 = r.model().moe_shared_expert_gate.value_or(false);
  if (!qwen2 && !r.Has("norm_topk_prob")) return r.Error("norm_topk_prob", "is missing");
  FLIGHTPLAN_ASSIGN_OR_RETURN(bool normalised, r.Bool("norm_topk_prob", false));
  return r.Set("moe_router_pre_softmax", Value(!normalised), "norm_topk_prob");
}

// Stricter than upstream, which reads such a file and builds every layer as MoE.
absl::Status OnlyMoeLayers(HfReader& r) {
  FLIGHTPLAN_ASSIGN_OR_RETURN(int64_t step, r.Int("decoder_sparse_step", 1, 0, kMaxLayers));
  if (step != 1)
    return r.Error("decoder_sparse_step", absl::StrCat("is ", step, "; only 1 (every layer MoE) is converted"));
  FLIGHTPLAN_ASSIGN_OR_RETURN(std::vector<int64_t> dense, r.Ints("mlp_only_layers"));
  if (!dense.empty()) return r.Error("mlp_only_layers", "names dense layers; only an empty list is converted");
  return EveryLayerMoe(r);
}

absl::Status SparseIndexer(HfReader& r) {
  ModelSpec& m = r.model();
  m.attention = "mla+dsa";
  FLIGHTPLAN_ASSIGN_OR_RETURN(m.dsa_indexer_n_heads, r.RequiredInt("index_n_heads", 1, 65536));
  FLIGHTPLAN_ASSIGN_OR_RETURN(m.dsa_indexer_head_dim, r.RequiredInt("index_head_dim", 1, 65536));
  FLIGHTPLAN_ASSIGN_OR_RETURN(m.dsa_indexer_topk, r.RequiredInt("index_topk", 1, int64_t{1} << 40));
  if (!m.dsa_indexer_topk_freq.has_value()) m.dsa_indexer_topk_freq = 1;
  if (!m.dsa_indexer_skip_topk_offset.has_value()) m.dsa_indexer_skip_topk_offset = 0;
  return absl::OkStatus();
}

// The file gives the whole query head and its part without positions.
absl::Status GlmHeadSizes(HfReader& r) {
  FLIGHTPLAN_ASSIGN_OR_RETURN(int64_t whole, r.RequiredInt("qk_head_dim", 2, 65536));
  FLIGHTPLAN_ASSIGN_OR_RETURN(int64_t plain, r.RequiredInt("qk_nope_head_dim", 1, 65536));
  return r.Set("qk_pos_emb_head_dim", Value(whole - plain), "qk_head_dim");
}

absl::Status DeepSeekV4(HfReader& r) {
  ModelSpec& m = r.model();
  FLIGHTPLAN_ASSIGN_OR_RETURN(m.dsa_indexer_n_heads, r.RequiredInt("index_n_heads", 1, 65536));
  FLIGHTPLAN_ASSIGN_OR_RETURN(m.dsa_indexer_head_dim, r.RequiredInt("index_head_dim", 1, 65536));
  FLIGHTPLAN_ASSIGN_OR_RETURN(m.dsa_indexer_topk, r.RequiredInt("index_topk", 1, int64_t{1} << 40));
  FLIGHTPLAN_RETURN_IF_ERROR(r.Set("mscale", Value(1.0), "rope_scaling"));
  FLIGHTPLAN_RETURN_IF_ERROR(r.Set("mscale_all_dim", Value(1.0), "rope_scaling"));
  FLIGHTPLAN_ASSIGN_OR_RETURN(std::vector<int64_t> ratios, r.Ints("compress_ratios"));
  const auto wanted = static_cast<size_t>(m.num_layers + m.mtp_num_layers.value_or(0));
  if (ratios.size() < wanted) {
    return r.Error("compress_ratios",
                   absl::StrCat("has ", ratios.size(), " entries; needs one per layer and MTP depth, ", wanted));
  }
  ratios.resize(wanted);
  return r.Set("csa_compress_ratios", Flags(ratios), "compress_ratios");
}

absl::Status SoftmaxScoringOnly(HfReader& r) {
  FLIGHTPLAN_ASSIGN_OR_RETURN(std::string scoring, r.Text("scoring_func", "softmax"));
  if (scoring != "softmax") return r.Error("scoring_func", "needs softmax in this class");
  return absl::OkStatus();
}

absl::Status RotaryDimension(HfReader& r) {
  const ModelSpec& m = r.model();
  if (!r.Has("rotary_dim") || m.kv_channels.value_or(0) < 1) return absl::OkStatus();
  FLIGHTPLAN_ASSIGN_OR_RETURN(int64_t rotary, r.RequiredInt("rotary_dim", 1, *m.kv_channels));
  return r.Set("rotary_percent", Value(static_cast<double>(rotary) / static_cast<double>(*m.kv_channels)),
               "rotary_dim");
}

absl::Status MiniMaxM3(HfReader& r) {
  ModelSpec& m = r.model();
  if (m.qk_layernorm.value_or(false)) m.qk_layernorm_kind = "per_head";
  FLIGHTPLAN_RETURN_IF_ERROR(SetSharedExperts(r, "shared_intermediate_size", "n_shared_experts", 1));
  FLIGHTPLAN_ASSIGN_OR_RETURN(std::vector<int64_t> moe, MlpLayerTypes(r));
  if (r.Has("moe_layer_freq")) {
    FLIGHTPLAN_ASSIGN_OR_RETURN(moe, r.Ints("moe_layer_freq"));
  }
  FLIGHTPLAN_RETURN_IF_ERROR(r.Set("moe_layer_freq", Flags(moe), "moe_layer_freq"));
  FLIGHTPLAN_ASSIGN_OR_RETURN(std::vector<std::string> layers, r.Texts("layer_types"));
  FLIGHTPLAN_ASSIGN_OR_RETURN(std::vector<int64_t> sparse, r.Ints("sparse_attention_config.sparse_attention_freq"));
  int64_t indexers = std::count(sparse.begin(), sparse.end(), 1);
  if (!layers.empty()) {
    indexers = std::count_if(layers.begin(), layers.end(), [](const std::string& t) { return t != "full_attention"; });
  }
  return r.Set("num_indexer_layers", Value(indexers), "sparse_attention_config.sparse_attention_freq");
}

namespace {

// ERNIE writes some numbers as a list of one per modality; the first is the text's.
absl::StatusOr<int64_t> FirstInt(HfReader& r, absl::string_view path, int64_t fallback) {
  const rapidjson::Value* node = r.Find(path);
  if (node == nullptr || !node->IsArray()) return r.Int(path, fallback, 0, kMaxSize);
  FLIGHTPLAN_ASSIGN_OR_RETURN(std::vector<int64_t> numbers, r.Ints(path));
  if (numbers.empty()) return r.Error(path, "is an empty list");
  return numbers.front();
}

}  // namespace

absl::Status Ernie(HfReader& r) {
  const ModelSpec& m = r.model();
  FLIGHTPLAN_ASSIGN_OR_RETURN(int64_t experts, FirstInt(r, "moe_num_experts", 64));
  FLIGHTPLAN_ASSIGN_OR_RETURN(int64_t width, FirstInt(r, "moe_intermediate_size", m.ffn_hidden_size.value_or(5120)));
  FLIGHTPLAN_ASSIGN_OR_RETURN(int64_t shared, SharedCount(r, "moe_num_shared_experts", 2));
  FLIGHTPLAN_RETURN_IF_ERROR(r.Set("num_moe_experts", Value(experts), "moe_num_experts"));
  FLIGHTPLAN_RETURN_IF_ERROR(r.Set("moe_ffn_hidden_size", Value(width), "moe_intermediate_size"));
  if (shared > 0) {
    FLIGHTPLAN_RETURN_IF_ERROR(
        r.Set("moe_shared_expert_intermediate_size", Value(width * shared), "moe_num_shared_experts"));
  }
  FLIGHTPLAN_ASSIGN_OR_RETURN(const std::vector<int64_t> types, MlpLayerTypes(r));
  if (!types.empty()) return r.Set("moe_layer_freq", Flags(types), "mlp_layer_types");
  FLIGHTPLAN_ASSIGN_OR_RETURN(int64_t start, FirstInt(r, "moe_layer_start_index", 1));
  FLIGHTPLAN_ASSIGN_OR_RETURN(int64_t interval, FirstInt(r, "moe_layer_interval", 1));
  const rapidjson::Value* last = r.Find("moe_layer_end_index");
  if (last != nullptr && last->IsArray() && !last->Empty()) last = &(*last)[0];
  const bool ends = last != nullptr && last->IsInt64() && last->GetInt64() >= 0 && last->GetInt64() < m.num_layers - 1;
  if (ends || interval > 1) {
    r.Note(absl::StrCat("its ", ends ? "moe_layer_end_index" : "moe_layer_interval",
                        " is not carried over: experts are "
                        "counted in each layer from moe_layer_start_index on, which is what Megatron-Bridge's "
                        "converter makes"));
  }
  return r.Set("moe_layer_freq", Pattern(m.num_layers, [&](int64_t i) { return i >= start; }), "moe_layer_start_index");
}

absl::Status Llama4(HfReader& r) {
  ModelSpec& m = r.model();
  // Its norm of queries and keys has no weights: Megatron's qk_l2_norm, not qk_layernorm.
  FLIGHTPLAN_ASSIGN_OR_RETURN(bool normed, r.Bool("use_qk_norm", false));
  m.qk_layernorm = normed;
  if (normed) m.qk_layernorm_kind = "l2_no_weight";
  FLIGHTPLAN_ASSIGN_OR_RETURN(int64_t step, r.RequiredInt("interleave_moe_layer_step", 1, kMaxLayers));
  return r.Set("moe_layer_freq", Pattern(m.num_layers, [&](int64_t i) { return (i + 1) % step == 0; }),
               "interleave_moe_layer_step");
}

// Grok-2 adds a dense MLP to the experts of each layer: the width of a shared expert.
absl::Status Grok(HfReader& r) {
  FLIGHTPLAN_ASSIGN_OR_RETURN(const bool residual, r.Bool("residual_moe", false));
  if (!residual) return absl::OkStatus();
  FLIGHTPLAN_ASSIGN_OR_RETURN(const int64_t dense, r.RequiredInt("intermediate_size", 1, kMaxSize));
  return r.Set("moe_shared_expert_intermediate_size", Value(dense), "residual_moe");
}

namespace {

// A number, or a list of one for each layer that are all the same.
absl::StatusOr<int64_t> AlikeInLayers(HfReader& r, absl::string_view path, int64_t fallback) {
  const rapidjson::Value* node = r.Find(path);
  if (node == nullptr || !node->IsArray()) return r.Int(path, fallback, 0, kMaxSize);
  FLIGHTPLAN_ASSIGN_OR_RETURN(const std::vector<int64_t> numbers, r.Ints(path));
  if (numbers.empty()) return r.Error(path, "is an empty list");
  if (std::adjacent_find(numbers.begin(), numbers.end(), std::not_equal_to<>()) == numbers.end()) return numbers[0];
  return r.Error(path, "differs between layers; a model description here has one number for all");
}

}  // namespace

absl::Status Hunyuan(HfReader& r) {
  FLIGHTPLAN_ASSIGN_OR_RETURN(const bool cla, r.Bool("use_cla", false));
  if (cla) return r.Error("use_cla", "is true; Megatron-Core shares no keys and values between layers");
  FLIGHTPLAN_ASSIGN_OR_RETURN(const int64_t dense, r.RequiredInt("intermediate_size", 1, kMaxSize));
  FLIGHTPLAN_ASSIGN_OR_RETURN(const int64_t topk, AlikeInLayers(r, "moe_topk", 1));
  FLIGHTPLAN_ASSIGN_OR_RETURN(const int64_t width, AlikeInLayers(r, "moe_intermediate_size", dense));
  FLIGHTPLAN_RETURN_IF_ERROR(r.Set("moe_router_topk", Value(topk), "moe_topk"));
  FLIGHTPLAN_RETURN_IF_ERROR(r.Set("moe_ffn_hidden_size", Value(width), "moe_intermediate_size"));
  FLIGHTPLAN_ASSIGN_OR_RETURN(const bool mixed, r.Bool("use_mixed_mlp_moe", false));
  FLIGHTPLAN_ASSIGN_OR_RETURN(const int64_t shared, AlikeInLayers(r, "num_shared_expert", 1));
  if (mixed && shared > 0) {
    FLIGHTPLAN_RETURN_IF_ERROR(
        r.Set("moe_shared_expert_intermediate_size", Value(dense * shared), "num_shared_expert"));
  }
  return EveryLayerMoe(r);
}

}  // namespace hf

absl::Status FinishHfModel(HfReader& r) {
  ModelSpec& m = r.model();
  if (!m.kv_channels.has_value() && !m.is_mla() && m.num_attention_heads > 0) {
    m.kv_channels = m.hidden_size / m.num_attention_heads;
  }
  if (m.attention == "gqa" && m.num_query_groups == m.num_attention_heads) m.attention = "mha";
  if (!m.qk_layernorm.value_or(false)) m.qk_layernorm_kind.reset();
  if (!m.is_moe()) {
    // DeepSeek's classes without experts are dense; a file of such a class that does not speak of them is no such
    // model.
    constexpr absl::string_view kCounts[] = {"num_experts", "num_local_experts", "n_routed_experts"};
    const bool said = std::any_of(std::begin(kCounts), std::end(kCounts),
                                  [&r](absl::string_view key) { return r.Find(key) != nullptr; });
    if (!m.moe_layer_freq.empty() && !said) {
      return r.Error(kCounts[0], "is missing, as are num_local_experts and n_routed_experts");
    }
    m.moe_layer_freq.clear();
    m.first_k_dense.reset();
    m.moe_shared_expert_intermediate_size.reset();
    // Some dense files carry leftovers of their MoE siblings.
    m.moe_router_topk.reset();
    m.moe_ffn_hidden_size.reset();
    m.moe_router_score_function.reset();
    m.moe_router_num_groups.reset();
    m.moe_router_group_topk.reset();
    m.moe_router_topk_scaling_factor.reset();
    return absl::OkStatus();
  }
  if (!m.moe_shared_expert_gate.has_value()) m.moe_shared_expert_gate = false;
  if (!m.moe_router_enable_expert_bias.has_value()) m.moe_router_enable_expert_bias = false;
  if (!m.hybrid_layer_pattern.has_value()) {
    const auto first_moe = std::find(m.moe_layer_freq.begin(), m.moe_layer_freq.end(), 1);
    m.first_k_dense = first_moe - m.moe_layer_freq.begin();
  }
  return absl::OkStatus();
}

}  // namespace flightplan
