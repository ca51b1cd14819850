#include "resolver/derive/shape.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "resolver/base/status_macros.h"
#include "resolver/derive/activation.h"
#include "resolver/derive/model_from_knobs.h"
#include "resolver/plan/model_fields.h"

namespace flightplan {
namespace {

// Megatron-Core ssm/mamba_mixer.py, which no flag changes. Megatron-Bridge takes a checkpoint's own
// (nemotron_h_bridge.py), which is not counted.
constexpr int64_t kMambaChunk = 128;

int64_t N(const std::optional<int64_t>& size) { return size.value_or(0); }

// Attention of layer i; i == num_layers asks for the layer of an MTP depth, which is of the last one's kind.
LayerKind KindOfLayer(const ModelSpec& m, int64_t i) {
  LayerKind kind;
  const absl::string_view attention = m.attention;  // compares its size first
  const int64_t last = std::min(i, m.num_layers - 1);
  const auto at = static_cast<size_t>(last);
  const bool moe = at < m.moe_layer_freq.size() && m.moe_layer_freq[at] != 0;
  kind.mlp = moe ? MlpKind::kMoe : MlpKind::kDense;
  if (at < m.linear_attention_freq.size() && m.linear_attention_freq[at] != 0) {
    kind.attention = attention == "kda-mla-hybrid" ? AttentionKind::kKimiDelta : AttentionKind::kGatedDelta;
    return kind;
  }
  if (attention == "csa-hybrid") {
    kind.attention = AttentionKind::kCompressed;
    const auto index = static_cast<size_t>(i);
    kind.compress_ratio = index < m.csa_compress_ratios.size() ? m.csa_compress_ratios[index] : 0;
    kind.window = N(m.csa_window_size);
    kind.indexer = kind.compress_ratio == 4;
    return kind;
  }
  if (attention == "mfa") {
    kind.attention = AttentionKind::kFactorised;
    return kind;
  }
  if (m.kv_lora_rank.has_value()) {
    kind.attention = AttentionKind::kLatent;
    return kind;
  }
  kind.attention = AttentionKind::kGrouped;
  if (!m.window_size.has_value()) return kind;
  // Counted from 1, every window_attn_skip_freq-th layer sees the whole sequence.
  const int64_t skip = N(m.window_attn_skip_freq);
  const bool windowed =
      at < m.window_attn_layers.size() ? m.window_attn_layers[at] != 0 : skip == 0 || (last + 1) % skip != 0;
  if (windowed) kind.window = *m.window_size;
  return kind;
}

LayerKind KindOfSymbol(char symbol) {
  LayerKind kind;
  if (symbol == 'M') kind.attention = AttentionKind::kMamba;
  if (symbol == '*') kind.attention = AttentionKind::kGrouped;
  if (symbol == '-') kind.mlp = MlpKind::kDense;
  if (symbol == 'E') kind.mlp = MlpKind::kMoe;
  return kind;
}

bool SameParameters(const PartParameters& a, const PartParameters& b) {
  return a.split == b.split && a.replicated == b.replicated && a.expert == b.expert;
}

// The index of this kind, new or known; -1 when the table is full.
int Intern(const LayerKind& kind, ModelShape* shape) {
  for (int i = 0; i < shape->kind_count; ++i) {
    if (shape->kinds[static_cast<size_t>(i)] == kind) return i;
  }
  if (shape->kind_count == kMaxLayerKinds) return -1;
  shape->kinds[static_cast<size_t>(shape->kind_count)] = kind;
  return shape->kind_count++;
}

absl::Status TooManyKinds() {
  return absl::InvalidArgumentError(
      absl::StrCat("the model has more than ", kMaxLayerKinds, " different kinds of layers"));
}

absl::Status AddLayers(const ModelSpec& m, const ModelParameters& parameters, ModelShape* shape) {
  const bool sparse = m.attention == "mla+dsa";
  shape->layer_kinds.reserve(parameters.layers.size());
  for (size_t i = 0; i < parameters.layers.size(); ++i) {
    LayerKind kind = m.hybrid_layer_pattern.has_value() ? KindOfSymbol((*m.hybrid_layer_pattern)[i])
                                                        : KindOfLayer(m, static_cast<int64_t>(i));
    kind.parameters = parameters.layers[i];
    // Layers of one make differ only by an indexer.
    if (kind.attention == AttentionKind::kLatent && sparse) {
      int64_t least = kind.parameters.replicated;
      for (const PartParameters& other : parameters.layers) {
        if (other.split == kind.parameters.split && other.expert == kind.parameters.expert)
          least = std::min(least, other.replicated);
      }
      kind.indexer = kind.parameters.replicated > least || N(m.dsa_indexer_topk_freq) <= 1;
    }
    const int index = Intern(kind, shape);
    if (index < 0) return TooManyKinds();
    shape->layer_kinds.push_back(static_cast<uint8_t>(index));
    ++shape->totals[static_cast<size_t>(index)];
  }
  return absl::OkStatus();
}

absl::Status AddMtp(const ModelSpec& m, const ModelParameters& parameters, ModelShape* shape) {
  shape->mtp_depths = parameters.mtp_depths;
  if (shape->mtp_depths == 0) return absl::OkStatus();
  shape->mtp_depth = parameters.mtp_depth;
  const auto add = [&](int index) {
    if (index < 0) return false;
    ++shape->mtp_layers[static_cast<size_t>(index)];
    return true;
  };
  if (m.hybrid_layer_pattern.has_value()) {
    for (char symbol : m.mtp_hybrid_override_pattern.value_or("")) {
      LayerKind kind = KindOfSymbol(symbol);
      for (int i = 0; i < shape->kind_count; ++i) {
        const LayerKind& known = shape->kinds[static_cast<size_t>(i)];
        if (known.attention == kind.attention && known.mlp == kind.mlp) kind = known;
      }
      if (!add(Intern(kind, shape))) return TooManyKinds();
    }
    return absl::OkStatus();
  }
  LayerKind kind = KindOfLayer(m, m.num_layers);
  const LayerKind& last = shape->kinds[shape->layer_kinds.back()];
  if (kind.attention == last.attention && kind.compress_ratio == last.compress_ratio) {
    kind = last;
  } else {
    // Its own make: what a depth has without the projection of two hidden states to one.
    kind.parameters = parameters.mtp_depth;
    kind.parameters.split -= 2 * m.hidden_size * m.hidden_size;
  }
  return add(Intern(kind, shape)) ? absl::OkStatus() : TooManyKinds();
}

}  // namespace

bool operator==(const LayerKind& a, const LayerKind& b) {
  return a.attention == b.attention && a.mlp == b.mlp && a.indexer == b.indexer && a.window == b.window &&
         a.compress_ratio == b.compress_ratio && SameParameters(a.parameters, b.parameters);
}

int64_t ModelShape::PaddedVocab(int64_t tp) const {
  const int64_t multiple = std::max<int64_t>(1, vocab_multiple) * std::max<int64_t>(1, tp);
  return multiple > vocab ? multiple : (vocab + multiple - 1) / multiple * multiple;
}

int64_t ModelShape::MoeLayers() const {
  int64_t layers = 0;
  for (size_t k = 0; k < kMaxLayerKinds; ++k) {
    if (kinds[k].mlp == MlpKind::kMoe) layers += totals[k];
  }
  return layers;
}

KindCounts ModelShape::Count(int64_t begin, int64_t end) const {
  KindCounts counts{};
  const auto size = static_cast<int64_t>(layer_kinds.size());
  for (int64_t i = std::max<int64_t>(0, begin); i < std::min(end, size); ++i) {
    ++counts[layer_kinds[static_cast<size_t>(i)]];
  }
  return counts;
}

absl::StatusOr<ModelShape> MakeShape(const ModelSpec& m) {
  FLIGHTPLAN_ASSIGN_OR_RETURN(const ModelParameters parameters, CountParameters(m));
  constexpr size_t kMostLayers = 65'535;  // what KindCounts can hold
  if (parameters.layers.size() > kMostLayers) return absl::InvalidArgumentError("the model has more than 65535 layers");
  ModelShape s;
  s.num_layers = static_cast<int64_t>(parameters.layers.size());
  s.hidden = m.hidden_size;
  s.vocab = m.vocab_size;
  s.tied = m.tie_embeddings.value_or(false);
  s.positions = parameters.positions;
  s.head = parameters.head;
  s.norms = m.hybrid_layer_pattern.has_value() ? 1 : static_cast<int>(m.norms_per_layer.value_or(2));
  s.gated = m.gated_linear_unit;

  s.heads = m.num_attention_heads;
  s.groups = m.num_query_groups;
  s.head_dim = m.kv_channels.value_or(s.heads > 0 ? m.hidden_size / s.heads : 0);
  s.q_rank = N(m.q_lora_rank);
  s.kv_rank = N(m.kv_lora_rank);
  s.qk_nope = N(m.qk_head_dim);
  s.qk_rope = N(m.qk_pos_emb_head_dim);
  s.v_dim = N(m.v_head_dim);
  s.o_rank = N(m.o_lora_rank);
  s.o_groups = N(m.o_groups);
  s.mfa_rank = N(m.mfa_q_rank);
  s.residual_streams = N(m.num_residual_streams);
  s.indexer_heads = m.dsa_indexer_n_heads.value_or(N(m.index_n_heads));
  s.indexer_dim = m.dsa_indexer_head_dim.value_or(N(m.index_head_dim));
  s.indexer_topk = N(m.dsa_indexer_topk);
  if (m.qk_layernorm.value_or(false) && !m.is_mla()) s.qk_norm_width = (s.heads + s.groups) * s.head_dim;
  s.sinks = m.softmax_type.value_or("vanilla") != "vanilla";
  s.output_gate = m.attention_output_gate || m.mla_output_gate;
  s.linear_key_heads = N(m.linear_num_key_heads);
  s.linear_value_heads = N(m.linear_num_value_heads);
  s.linear_key_dim = N(m.linear_key_head_dim);
  s.linear_value_dim = N(m.linear_value_head_dim);
  s.conv_kernel = m.linear_conv_kernel_dim.value_or(N(m.mamba_conv_kernel));
  s.mamba_heads = N(m.mamba_num_heads);
  s.mamba_head_dim = N(m.mamba_head_dim);
  s.mamba_state = N(m.mamba_state_dim);
  s.mamba_groups = N(m.mamba_num_groups);
  s.mamba_chunk = kMambaChunk;

  s.ffn = N(m.ffn_hidden_size);
  s.experts = N(m.num_moe_experts);
  s.topk = N(m.moe_router_topk);
  s.expert_ffn = N(m.moe_ffn_hidden_size);
  s.shared_ffn = N(m.moe_shared_expert_intermediate_size);
  s.shared_gate = m.moe_shared_expert_gate.value_or(false);
  s.latent = N(m.moe_latent_size);
  s.router_groups = N(m.moe_router_num_groups);
  s.router_group_topk = N(m.moe_router_group_topk);
  s.activation = ActivationOf(m.activation);
  s.expert_bias = m.expert_bias_terms;
  FLIGHTPLAN_RETURN_IF_ERROR(AddLayers(m, parameters, &s));
  FLIGHTPLAN_RETURN_IF_ERROR(AddMtp(m, parameters, &s));
  return s;
}

namespace {

// A size that model and configuration call by one name.
struct SharedSize {
  Knob knob{};
  const ModelField* field;
};

const std::vector<SharedSize>& SharedSizes() {
  static const auto* const kSizes = [] {
    auto* const all = new std::vector<SharedSize>;
    for (const ModelField& field : ModelFields()) {
      const bool size = std::holds_alternative<int64_t ModelSpec::*>(field.member) ||
                        std::holds_alternative<std::optional<int64_t> ModelSpec::*>(field.member);
      const std::optional<Knob> knob = FindKnob(field.name);
      // The first two change lists as well; what a model may be asked for at most is no size of its own.
      const bool other = knob == Knob::num_layers || knob == Knob::mtp_num_layers ||
                         knob == Knob::max_position_embeddings || knob == Knob::window_size;
      if (size && knob.has_value() && !other) all->push_back({*knob, &field});
    }
    return all;
  }();
  return *kSizes;
}

std::optional<int64_t> SizeOf(const ModelSpec& model, const ModelField& field) {
  if (const auto* const plain = std::get_if<int64_t ModelSpec::*>(&field.member)) return model.*(*plain);
  return model.*std::get<std::optional<int64_t> ModelSpec::*>(field.member);
}
void SetSize(const ModelField& field, int64_t size, ModelSpec* model) {
  if (const auto* const plain = std::get_if<int64_t ModelSpec::*>(&field.member)) {
    model->*(*plain) = size;
  } else {
    model->*std::get<std::optional<int64_t> ModelSpec::*>(field.member) = size;
  }
}

// Whether the model has a part with this size, or may be given one.
bool TakesSize(const ModelSpec& model, const SharedSize& size) {
  const bool of_heads = size.knob == Knob::kv_channels || size.knob == Knob::num_query_groups;
  if (of_heads) return !model.is_mla();
  if (size.knob == Knob::q_lora_rank) return model.is_mla();
  return SizeOf(model, *size.field).has_value() || (model.is_moe() && absl::StartsWith(size.field->name, "moe_"));
}

// One entry for each layer and MTP depth, in turn; of layers that are added those before go on.
void ResizeRatios(const ModelSpec& was, ModelSpec* model) {
  std::vector<int64_t>& ratios = model->csa_compress_ratios;
  const auto layers = static_cast<size_t>(std::clamp<int64_t>(was.num_layers, 0, std::ssize(ratios)));
  if (layers < 2) return;
  std::vector<int64_t> depths(ratios.begin() + static_cast<std::ptrdiff_t>(layers), ratios.end());
  ratios.resize(layers);
  const auto wanted = static_cast<size_t>(std::clamp<int64_t>(model->num_layers, 0, 65'535));
  while (ratios.size() < wanted) ratios.push_back(ratios[ratios.size() - 2]);
  ratios.resize(wanted);
  depths.resize(static_cast<size_t>(std::clamp<int64_t>(N(model->mtp_num_layers), 0, 65'535)),
                depths.empty() ? was.csa_compress_ratios.back() : depths.back());
  ratios.insert(ratios.end(), depths.begin(), depths.end());
}

std::optional<ModelSpec> ChangedBy(const Config& config, const ModelSpec& model) {
  std::optional<ModelSpec> changed;
  const auto m = [&]() -> ModelSpec& { return changed.has_value() ? *changed : changed.emplace(model); };
  const auto given = [&](Knob knob) { return config.Given(knob) && config.Get(knob).is_int(); };
  const auto take = [&](Knob knob, std::optional<int64_t> ModelSpec::*size) {
    const int64_t value = config.Get(knob).integer();
    if (given(knob) && value > 0 && model.*size != value) m().*size = value;
  };
  if (given(Knob::num_layers) && !model.hybrid_layer_pattern.has_value() &&
      config.Get(Knob::num_layers).integer() > 0 && config.Get(Knob::num_layers).integer() != model.num_layers) {
    m().num_layers = config.Get(Knob::num_layers).integer();
    const auto layers = static_cast<size_t>(std::min<int64_t>(m().num_layers, 65'535));
    for (std::vector<int64_t>* pattern : {&m().moe_layer_freq, &m().linear_attention_freq}) {
      if (!pattern->empty()) pattern->resize(layers, pattern->back());
    }
    m().num_linear_attention_layers.reset();
    m().first_k_dense.reset();
  }
  const Knob mtp = Knob::mtp_num_layers;
  if ((given(mtp) || (config.Given(mtp) && config.Get(mtp).is_none())) &&
      model.mtp_num_layers != config.Get(mtp).integer()) {
    m().mtp_num_layers = config.Get(mtp).integer();
  }
  if (changed.has_value()) ResizeRatios(model, &*changed);
  // A row for each position that a sequence may reach.
  if (model.learned_positions.has_value()) take(Knob::max_position_embeddings, &ModelSpec::learned_positions);
  // LoongForge's own file may give output weights of its own to a model that is published without.
  const Knob untie = Knob::untie_embeddings_and_output_weights;
  if (config.Given(untie) && config.Get(untie).is_bool() &&
      model.tie_embeddings.value_or(false) == config.Get(untie).truthy()) {
    m().tie_embeddings = !config.Get(untie).truthy();
  }
  if (model.is_moe()) {
    take(Knob::num_moe_experts, &ModelSpec::num_moe_experts);
    take(Knob::moe_router_topk, &ModelSpec::moe_router_topk);
    take(Knob::moe_ffn_hidden_size, &ModelSpec::moe_ffn_hidden_size);
  }
  const auto differs = [&](const SharedSize& size) {
    return given(size.knob) && config.Get(size.knob).integer() > 0 && TakesSize(model, size) &&
           SizeOf(model, *size.field) != config.Get(size.knob).integer();
  };
  const std::vector<SharedSize>& sizes = SharedSizes();
  const bool rebuilt = std::any_of(sizes.begin(), sizes.end(), [&](const SharedSize& size) {
    return config.origin(size.knob) == Origin::kCaller && differs(size);
  });
  // What the model's own sizes left to each other follows from the new ones: a head's width of the hidden size.
  for (const SharedSize& size : sizes) {
    if (rebuilt && differs(size)) SetSize(*size.field, config.Get(size.knob).integer(), &m());
  }
  const Value& window = config.Get(Knob::window_size);
  if (config.origin(Knob::window_size) == Origin::kCaller && SeenTokens(window).has_value() &&
      model.window_size != SeenTokens(window)) {
    m().window_size = SeenTokens(window);
  }
  if (model.is_moe() && !model.hybrid_layer_pattern.has_value() &&
      config.origin(Knob::moe_layer_freq) == Origin::kCaller) {
    std::vector<int64_t> layers = MoeLayers(config.Get(Knob::moe_layer_freq), (changed ? *changed : model).num_layers);
    if ((changed ? *changed : model).moe_layer_freq != layers) m().moe_layer_freq = std::move(layers);
  }
  return changed;
}

}  // namespace

std::optional<ModelSpec> ChangedModel(const ModelSpec& model, const Config& config) {
  std::optional<ModelSpec> changed = ChangedBy(config, model);
  if (!changed.has_value()) return changed;
  const absl::StatusOr<ModelParameters> parameters = CountParameters(*changed);
  changed->computed = parameters.ok() ? std::optional(parameters->counts) : std::nullopt;
  return changed;
}

absl::StatusOr<ModelShape> MakeShape(const ModelSpec& model, const Config& config, const ModelShape* own) {
  const std::optional<ModelSpec> changed = ChangedBy(config, model);
  ModelShape shape;
  if (own != nullptr && !changed.has_value()) {
    shape = *own;
  } else {
    FLIGHTPLAN_ASSIGN_OR_RETURN(shape, MakeShape(changed.has_value() ? *changed : model));
  }
  if (config.Get(Knob::make_vocab_size_divisible_by).is_int())
    shape.vocab_multiple = std::clamp<int64_t>(config.Get(Knob::make_vocab_size_divisible_by).integer(), 1, 1 << 24);
  shape.mtp_repeated = config.Get(Knob::mtp_use_repeated_layer).truthy();
  return shape;
}

}  // namespace flightplan
