// What a config.json says and the model that it became does not have.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "resolver/base/status_macros.h"
#include "resolver/base/utf8.h"
#include "resolver/normalize/hf_families.h"

namespace flightplan {
namespace {

// Keys that Megatron-Core's own classes have nothing for. A value that changes nothing counts as none.
struct Beyond {
  absl::string_view key;
  absl::string_view what;
  double neutral = 0;
};
constexpr Beyond kBeyond[] = {
    {"attention_value_scale", "a scale of its own for values", 1},
    {"add_swa_attention_sink_bias", "sinks in layers with a window alone"},
    {"swa_rope_theta", "a rotary base for each kind of layer"},
    {"partial_rotary_factors", "a share of rotated channels for each layer"},
    {"use_head_wise_attn_gate", "a gate for each attention head"},
    {"swiglu_limits", "limits of SwiGLU for each layer"},
    {"yarn_only_types", "scaled positions in layers of one kind alone"},
    {"clip_qkv", "a clip of queries, keys and values"},
    {"attn_config.clip_qkv", "a clip of queries, keys and values"},
    {"attn_logit_softcapping", "a cap on attention scores"},
    {"final_logit_softcapping", "a cap on logits"},
    {"router_logit_softcapping", "a cap on router scores"},
    {"mup_enabled", "embeddings scaled by the width"},
    {"embedding_multiplier", "a scale of embeddings", 1},
    {"embedding_multiplier_scale", "a scale of embeddings", 1},
    {"residual_multiplier", "a scale of residuals", 1},
    {"attention_multiplier", "its own softmax scale", 1},
    {"logits_scaling", "a scale of logits", 1},
    {"output_multiplier_scale", "a scale of logits", 1},
    {"rope_parameters.llama_4_scaling_beta", "queries scaled by their position"},
    {"rope_scaling.llama_4_scaling_beta", "queries scaled by their position"},
};

void BeyondCore(HfReader& r) {
  std::vector<std::string>& beyond = r.model().beyond_core;
  const size_t before = beyond.size();
  for (const Beyond& row : kBeyond) {
    const rapidjson::Value* const node = r.Find(row.key);
    if (node == nullptr || node->IsNull() || node->IsFalse()) continue;
    if (node->IsNumber() && (node->GetDouble() == row.neutral || node->GetDouble() == 0)) continue;
    if (std::find(beyond.begin(), beyond.end(), row.what) == beyond.end()) beyond.emplace_back(row.what);
  }
  if (beyond.size() == before) return;
  r.Note(absl::StrCat("Megatron-Core's own classes do not build ",
                      absl::StrJoin(beyond.begin() + static_cast<std::ptrdiff_t>(before), beyond.end(), ", ")));
}

// Megatron normalises the weights of the chosen experts where it scores by sigmoid, or by softmax after the choice.
absl::Status Normalisation(HfReader& r) {
  const ModelSpec& m = r.model();
  FLIGHTPLAN_ASSIGN_OR_RETURN(const bool said, r.Bool("norm_topk_prob", false));
  if (!r.Has("norm_topk_prob") || m.moe_router_topk.value_or(1) < 2) return absl::OkStatus();
  const bool softmax = m.moe_router_score_function.value_or("softmax") == "softmax";
  const bool normalised = !softmax || !m.moe_router_pre_softmax.value_or(false);
  if (said == normalised) return absl::OkStatus();
  r.Note(absl::StrCat("its norm_topk_prob of ", said ? "true" : "false", " is not carried over: Megatron ",
                      softmax ? "takes the weights of a softmax before the choice as they are, which this class has"
                              : "normalises the scores of the chosen experts"));
  return absl::OkStatus();
}

absl::Status TopkMethod(HfReader& r) {
  ModelSpec& m = r.model();
  FLIGHTPLAN_ASSIGN_OR_RETURN(const std::string method, r.Text("topk_method", ""));
  if (method.empty()) return absl::OkStatus();
  if (method == "greedy" && m.moe_router_num_groups.value_or(1) > 1) {  // the groups are named and not used
    m.moe_router_num_groups.reset();
    m.moe_router_group_topk.reset();
  }
  const bool bias = method == "noaux_tc";
  if (bias && !m.moe_router_enable_expert_bias.has_value() && m.moe_router_score_function == "sigmoid") {
    m.moe_router_enable_expert_bias = true;
  }
  if (bias == m.moe_router_enable_expert_bias.value_or(false)) return absl::OkStatus();
  r.Note(absl::StrCat("its topk_method of ", Utf8Prefix(method, 60), " is not carried over: models of this class have ",
                      bias ? "no" : "a", " bias of experts in the router here"));
  return absl::OkStatus();
}

// Which layers have experts, where a file says so by a key that its class does not read.
absl::Status ExpertLayers(HfReader& r) {
  const ModelSpec& m = r.model();
  if (m.hybrid_layer_pattern.has_value() || m.moe_layer_freq.empty()) return absl::OkStatus();
  const auto dense = std::find(m.moe_layer_freq.begin(), m.moe_layer_freq.end(), 1) - m.moe_layer_freq.begin();
  const rapidjson::Value* const freq = r.Find("moe_layer_freq");
  absl::string_view key;
  if (freq != nullptr && freq->IsArray()) {
    FLIGHTPLAN_ASSIGN_OR_RETURN(const std::vector<int64_t> listed, r.Ints("moe_layer_freq"));
    if (listed != m.moe_layer_freq) key = "moe_layer_freq";
  } else {
    FLIGHTPLAN_ASSIGN_OR_RETURN(const int64_t step, r.Int("moe_layer_freq", 1, 0, kMaxLayers));
    const bool all = std::find(m.moe_layer_freq.begin() + dense, m.moe_layer_freq.end(), 0) == m.moe_layer_freq.end();
    if (step > 1 && all && m.num_layers - dense > 1) key = "moe_layer_freq";
    FLIGHTPLAN_ASSIGN_OR_RETURN(const int64_t first, r.Int("first_k_dense_replace", 0, 0, kMaxLayers));
    if (first > dense) key = "first_k_dense_replace";
  }
  if (key.empty()) return absl::OkStatus();
  const int64_t moe = std::count(m.moe_layer_freq.begin(), m.moe_layer_freq.end(), 1);
  r.Note(absl::StrCat("its ", key, " is not carried over: ", moe, " of ", m.num_layers,
                      " layers have experts here, which is what its class builds"));
  return absl::OkStatus();
}

}  // namespace

namespace hf {

absl::Status NotCarried(HfReader& r) {
  BeyondCore(r);
  if (!r.model().is_moe()) return absl::OkStatus();
  FLIGHTPLAN_RETURN_IF_ERROR(Normalisation(r));
  FLIGHTPLAN_RETURN_IF_ERROR(TopkMethod(r));
  return ExpertLayers(r);
}

}  // namespace hf
}  // namespace flightplan
