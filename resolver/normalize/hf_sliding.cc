// What a config.json says of windows, and of layers whose attention differs with them: Gemma, MiMo-V2 and Step.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "resolver/base/status_macros.h"
#include "resolver/normalize/hf_families.h"

namespace flightplan {
namespace {

constexpr int64_t kMaxWindow = int64_t{1} << 40;
constexpr int64_t kQwenFullLayers = 28;  // transformers' default of max_window_layers

// Heads of the layers of one kind.
struct Heads {
  int64_t query;
  int64_t groups;
  int64_t qk_size;
  int64_t v_size;
};

// Weights of the four projections of one layer, for any sizes that a file may say.
double Projections(int64_t hidden, const Heads& heads) {
  const double sizes = static_cast<double>(heads.qk_size) + static_cast<double>(heads.v_size);
  return static_cast<double>(hidden) * static_cast<double>(heads.query + heads.groups) * sizes;
}

Heads HeadsOf(const ModelSpec& m) {
  const int64_t size = m.kv_channels.value_or(m.hidden_size / std::max<int64_t>(1, m.num_attention_heads));
  return {m.num_attention_heads, m.num_query_groups, size, size};
}

// A model description holds one shape of heads: says what the layers of another shape are counted with, and how far off
// that is.
void CountAlike(HfReader& r, absl::string_view which, int64_t layers, const Heads& heads) {
  const Heads counted = HeadsOf(r.model());
  const int64_t hidden = r.model().hidden_size;
  const double off = static_cast<double>(layers) * (Projections(hidden, counted) - Projections(hidden, heads));
  if (off == 0) return;
  r.model().beyond_core.push_back(absl::StrCat("heads of their own in ", which));
  const std::string size =
      heads.v_size == heads.qk_size ? absl::StrCat(heads.qk_size) : absl::StrCat(heads.qk_size, " and ", heads.v_size);
  r.Note(
      absl::StrFormat("its %d %s have %d query and %d key and value heads of %s; they are counted with %d and %d of "
                      "%d, which is %.3g million parameters too %s",
                      layers, which, heads.query, heads.groups, size, counted.query, counted.groups, counted.qk_size,
                      std::abs(off) / 1e6, off > 0 ? "many" : "few"));
}

absl::Status NeedsOneALayer(HfReader& r, absl::string_view path, size_t entries) {
  const int64_t layers = r.model().num_layers;
  if (entries == static_cast<size_t>(layers)) return absl::OkStatus();
  return r.Error(path, absl::StrCat("has ", entries, " entries; needs one for each of ", layers, " layers"));
}

// Which layers have a window, one flag a layer. Megatron's own pattern is a period, where each N-th layer has none, or
// such a list.
absl::Status SetWindowed(HfReader& r, absl::string_view path, const std::vector<int64_t>& windowed) {
  ModelSpec& m = r.model();
  FLIGHTPLAN_RETURN_IF_ERROR(NeedsOneALayer(r, path, windowed.size()));
  m.window_attn_skip_freq.reset();
  m.window_attn_layers.clear();
  const auto first = std::find(windowed.begin(), windowed.end(), 0);
  if (first == windowed.end()) return absl::OkStatus();  // all have one
  const int64_t period = first - windowed.begin() + 1;
  for (int64_t i = 0; i < m.num_layers; ++i) {
    if ((windowed[static_cast<size_t>(i)] == 0) == ((i + 1) % period == 0)) continue;
    m.window_attn_layers = windowed;
    return absl::OkStatus();
  }
  m.window_attn_skip_freq = period;
  return absl::OkStatus();
}

absl::StatusOr<std::vector<int64_t>> WindowedByType(HfReader& r) {
  FLIGHTPLAN_ASSIGN_OR_RETURN(std::vector<std::string> types, r.Texts("layer_types"));
  std::vector<int64_t> windowed;
  windowed.reserve(types.size());
  for (const std::string& type : types) windowed.push_back(type == "sliding_attention" ? 1 : 0);
  // Prediction layers may stand behind the others.
  const auto layers = static_cast<size_t>(r.model().num_layers);
  if (windowed.size() > layers) windowed.resize(layers);
  return windowed;
}

int64_t Windowed(const std::vector<int64_t>& windowed) { return std::count(windowed.begin(), windowed.end(), 1); }

// The layers with experts, as a list of numbers or as a text of them.
absl::StatusOr<std::vector<int64_t>> MoeLayers(HfReader& r) {
  const rapidjson::Value* node = r.Find("moe_layers_enum");
  if (node == nullptr || !node->IsString()) return r.Ints("moe_layers_enum");
  FLIGHTPLAN_ASSIGN_OR_RETURN(std::string text, r.Text("moe_layers_enum", ""));
  std::vector<int64_t> layers;
  for (absl::string_view part : absl::StrSplit(text, ',', absl::SkipWhitespace())) {
    int64_t layer = 0;
    if (!absl::SimpleAtoi(part, &layer)) return r.Error("moe_layers_enum", "needs layer numbers between commas");
    layers.push_back(layer);
  }
  return layers;
}

// EXAONE's letters, L with a window and G without, over and over; the last layer has none.
absl::Status WindowedByLetters(HfReader& r, absl::string_view path) {
  FLIGHTPLAN_ASSIGN_OR_RETURN(const std::string letters, r.Text(path, ""));
  if (letters.empty() || letters.find_first_not_of("LG") != std::string::npos) {
    return r.Error(path, "needs a number, or letters L (with a window) and G (without)");
  }
  std::vector<int64_t> windowed;
  const auto layers = static_cast<size_t>(r.model().num_layers);
  for (size_t i = 0; i < layers; ++i) windowed.push_back(letters[i % letters.size()] == 'L' && i + 1 < layers ? 1 : 0);
  return SetWindowed(r, path, windowed);
}

// By layer_types, by a period or by letters. MiMo-V2-Flash has a list of its own.
absl::Status WhichWindowed(HfReader& r) {
  FLIGHTPLAN_ASSIGN_OR_RETURN(std::vector<int64_t> windowed, WindowedByType(r));
  if (!windowed.empty()) return SetWindowed(r, "layer_types", windowed);
  for (absl::string_view path : {"sliding_window_pattern", "_sliding_window_pattern"}) {
    if (!r.Has(path)) continue;
    if (r.Find(path)->IsString()) return WindowedByLetters(r, path);
    FLIGHTPLAN_ASSIGN_OR_RETURN(r.model().window_attn_skip_freq, r.RequiredInt(path, 1, kMaxLayers));
    break;
  }
  return absl::OkStatus();
}

}  // namespace

namespace hf {

absl::Status SlidingWindow(HfReader& r) {
  // MistralConfig has a window by itself; a null says that there is none.
  const bool by_itself = r.model().architecture == "MistralForCausalLM" && r.Find("sliding_window") == nullptr;
  if (!by_itself && !r.Has("sliding_window")) return absl::OkStatus();
  FLIGHTPLAN_ASSIGN_OR_RETURN(int64_t window, r.Int("sliding_window", 4096, 1, kMaxWindow));
  r.model().attention = "gqa+sliding";
  r.model().window_size = window;
  return absl::OkStatus();
}

absl::Status NormsBehind(HfReader& r) {
  r.model().beyond_core.emplace_back("norms behind attention and the MLP");
  return absl::OkStatus();
}

// Layers without a window have no rotary positions.
absl::Status RotaryInWindowsAlone(HfReader& r) {
  ModelSpec& m = r.model();
  if (!m.window_size.has_value()) return absl::OkStatus();
  m.attention = "gqa+sliding";
  FLIGHTPLAN_RETURN_IF_ERROR(WhichWindowed(r));
  std::vector<int64_t> full;
  for (int64_t i = 0; i < m.num_layers; ++i) {
    const bool listed = !m.window_attn_layers.empty();
    const int64_t period = m.window_attn_skip_freq.value_or(0);
    full.push_back(listed ? 1 - m.window_attn_layers[static_cast<size_t>(i)] : period > 0 && (i + 1) % period == 0);
  }
  return r.Set("no_rope_freq", Flags(full), "layer_types");
}

// Where a class has windows, the file may say which layers: a list of their kinds, or which one in how many has none.
// Where layers are described with full attention, it may give some of them a window: Qwen's by a switch and the layers
// from max_window_layers on, newer ones by that list.
absl::Status Windows(HfReader& r) {
  ModelSpec& m = r.model();
  if (m.window_size.has_value()) return WhichWindowed(r);
  if (m.csa_window_size.has_value()) return absl::OkStatus();
  FLIGHTPLAN_ASSIGN_OR_RETURN(const int64_t window, r.Int("sliding_window", 0, 0, kMaxWindow));
  FLIGHTPLAN_ASSIGN_OR_RETURN(const bool used, r.Bool("use_sliding_window", false));
  FLIGHTPLAN_ASSIGN_OR_RETURN(const int64_t from, r.Int("max_window_layers", kQwenFullLayers, 0, kMaxSize));
  FLIGHTPLAN_ASSIGN_OR_RETURN(const std::vector<std::string> types, r.Texts("layer_types"));
  int64_t layers = used && window > 0 ? std::max<int64_t>(0, m.num_layers - from) : 0;
  if (!types.empty()) layers = std::count(types.begin(), types.end(), "sliding_attention");
  if (layers == 0) return absl::OkStatus();
  r.Note(absl::StrCat("the window of its ", layers, " layers with sliding attention", window > 0 ? ", " : "",
                      window > 0 ? absl::StrCat(window, " tokens,") : "",
                      " is not carried over: a model of this class has full attention in every layer here, so that "
                      "attention is counted with more work than it has"));
  return absl::OkStatus();
}

// The second and third are told by their norms already.
absl::Status Gemma(HfReader& r) {
  r.model().beyond_core.emplace_back("embeddings scaled by the width");
  return absl::OkStatus();
}

// Attention scores are scaled by the head size unless the file says otherwise.
absl::Status Gemma2(HfReader& r) {
  ModelSpec& m = r.model();
  FLIGHTPLAN_ASSIGN_OR_RETURN(int64_t scalar, r.Int("query_pre_attn_scalar", 256, 1, kMaxSize));
  if (scalar != m.kv_channels.value_or(0)) m.query_pre_attn_scalar = scalar;
  return absl::OkStatus();
}

absl::Status Gemma3(HfReader& r) {
  ModelSpec& m = r.model();
  FLIGHTPLAN_ASSIGN_OR_RETURN(int64_t scalar, r.Int("query_pre_attn_scalar", 256, 1, kMaxSize));
  if (scalar != m.kv_channels.value_or(0)) m.query_pre_attn_scalar = scalar;
  r.Note("local layers use their own rotary base, which a model description here does not hold");
  return absl::OkStatus();
}

// Text of Gemma-4. Its layers without a window have heads of their own; the dense MLP stands for the shared expert.
absl::Status Gemma4(HfReader& r) {
  ModelSpec& m = r.model();
  FLIGHTPLAN_ASSIGN_OR_RETURN(int64_t per_layer, r.Int("hidden_size_per_layer_input", 0, 0, kMaxSize));
  if (per_layer > 0) {
    return r.Error("hidden_size_per_layer_input",
                   absl::StrCat("is ", per_layer, "; a model description here holds no embeddings of single layers"));
  }
  FLIGHTPLAN_ASSIGN_OR_RETURN(bool moe, r.Bool("enable_moe_block", false));
  if (moe) {
    m.moe_router_score_function = "softmax";
    FLIGHTPLAN_ASSIGN_OR_RETURN(int64_t topk, r.RequiredInt("top_k_experts", 1, kMaxHeads));
    FLIGHTPLAN_RETURN_IF_ERROR(r.Set("moe_router_topk", Value(topk), "top_k_experts"));
    FLIGHTPLAN_ASSIGN_OR_RETURN(int64_t dense, r.RequiredInt("intermediate_size", 1, kMaxSize));
    FLIGHTPLAN_RETURN_IF_ERROR(r.Set("moe_shared_expert_intermediate_size", Value(dense), "intermediate_size"));
    FLIGHTPLAN_RETURN_IF_ERROR(r.Set("moe_router_pre_softmax", Value(true), "enable_moe_block"));
    FLIGHTPLAN_RETURN_IF_ERROR(r.Set("moe_router_dtype", Value(std::string("fp32")), "enable_moe_block"));
    FLIGHTPLAN_RETURN_IF_ERROR(EveryLayerMoe(r));
  } else {
    m.num_moe_experts.reset();
  }
  FLIGHTPLAN_ASSIGN_OR_RETURN(std::vector<int64_t> windowed, WindowedByType(r));
  if (windowed.empty()) return absl::OkStatus();
  Heads full = HeadsOf(m);
  FLIGHTPLAN_ASSIGN_OR_RETURN(full.qk_size, r.Int("global_head_dim", 512, 1, kMaxSize));
  FLIGHTPLAN_ASSIGN_OR_RETURN(full.groups, r.Int("num_global_key_value_heads", full.groups, 1, kMaxHeads));
  full.v_size = full.qk_size;
  CountAlike(r, "layers without a window", m.num_layers - Windowed(windowed), full);
  return absl::OkStatus();
}

absl::Status MiMoV2Flash(HfReader& r) {
  ModelSpec& m = r.model();
  FLIGHTPLAN_ASSIGN_OR_RETURN(std::vector<int64_t> windowed, r.Ints("hybrid_layer_pattern"));
  FLIGHTPLAN_RETURN_IF_ERROR(SetWindowed(r, "hybrid_layer_pattern", windowed));
  FLIGHTPLAN_ASSIGN_OR_RETURN(std::vector<int64_t> moe, r.Ints("moe_layer_freq"));
  FLIGHTPLAN_RETURN_IF_ERROR(NeedsOneALayer(r, "moe_layer_freq", moe.size()));
  FLIGHTPLAN_RETURN_IF_ERROR(r.Set("moe_layer_freq", Value(Value::List(moe.begin(), moe.end())), "moe_layer_freq"));
  Heads heads = HeadsOf(m);
  FLIGHTPLAN_ASSIGN_OR_RETURN(heads.v_size, r.Int("v_head_dim", heads.qk_size, 1, kMaxSize));
  const int64_t sliding = Windowed(windowed);
  CountAlike(r, "layers without a window", m.num_layers - sliding, heads);
  FLIGHTPLAN_ASSIGN_OR_RETURN(heads.groups, r.Int("swa_num_key_value_heads", heads.groups, 1, kMaxHeads));
  CountAlike(r, "layers with a window", sliding, heads);
  if (!r.Has("num_nextn_predict_layers")) {
    r.Note(
        "its prediction layers (MTP) stand in the weights alone; plans count none unless mtp_num_layers says how many");
  }
  return absl::OkStatus();
}

absl::Status Step3(HfReader& r) {
  const ModelSpec& m = r.model();
  FLIGHTPLAN_ASSIGN_OR_RETURN(const std::vector<int64_t> layers, MoeLayers(r));
  Value::List flags(static_cast<size_t>(m.num_layers), Value(0));
  for (int64_t layer : layers) {
    if (layer < 0 || layer >= m.num_layers) {
      return r.Error("moe_layers_enum", absl::StrCat("holds ", layer, "; needs layers below ", m.num_layers));
    }
    flags[static_cast<size_t>(layer)] = Value(1);
  }
  return r.Set("moe_layer_freq", Value(std::move(flags)), "moe_layers_enum");
}

// A rotary base a layer; the layers with a window have heads of their own.
absl::Status Step35(HfReader& r) {
  ModelSpec& m = r.model();
  FLIGHTPLAN_RETURN_IF_ERROR(Step3(r));
  const rapidjson::Value* theta = r.Find("rope_theta");
  const bool listed = theta != nullptr && theta->IsArray();
  if (listed && (theta->Empty() || !(*theta)[0].IsNumber()))
    return r.Error("rope_theta", "needs a number, or a list of them");
  if (listed) {
    m.beyond_core.emplace_back("a rotary base for each layer");
    FLIGHTPLAN_RETURN_IF_ERROR(r.Set("rotary_base", Value((*theta)[0].GetDouble()), "rope_theta"));
  } else {
    FLIGHTPLAN_ASSIGN_OR_RETURN(double base, r.Real("rope_theta", 10000));
    FLIGHTPLAN_RETURN_IF_ERROR(r.Set("rotary_base", Value(base), "rope_theta"));
  }
  FLIGHTPLAN_ASSIGN_OR_RETURN(bool fp32_gate, r.Bool("need_fp32_gate", false));
  if (fp32_gate) FLIGHTPLAN_RETURN_IF_ERROR(r.Set("moe_router_dtype", Value(std::string("fp32")), "need_fp32_gate"));
  FLIGHTPLAN_ASSIGN_OR_RETURN(std::vector<int64_t> windowed, WindowedByType(r));
  if (windowed.empty()) {  // as published: of four layers the first has none
    for (int64_t i = 0; i < m.num_layers; ++i) windowed.push_back(i % 4 == 0 ? 0 : 1);
    FLIGHTPLAN_RETURN_IF_ERROR(SetWindowed(r, "layer_types", windowed));
  }
  Heads sliding = HeadsOf(m);
  FLIGHTPLAN_ASSIGN_OR_RETURN(sliding.query, r.Int("attention_other_setting.num_attention_heads", 96, 1, kMaxHeads));
  FLIGHTPLAN_ASSIGN_OR_RETURN(sliding.groups, r.Int("attention_other_setting.num_attention_groups", 8, 1, kMaxHeads));
  FLIGHTPLAN_ASSIGN_OR_RETURN(sliding.qk_size, r.Int("attention_other_setting.head_dim", 128, 1, kMaxSize));
  sliding.v_size = sliding.qk_size;
  CountAlike(r, "layers with a window", Windowed(windowed), sliding);
  return absl::OkStatus();
}

}  // namespace hf
}  // namespace flightplan
