#include "resolver/derive/parameters.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "resolver/base/checked.h"
#include "resolver/plan/model_fields.h"

namespace flightplan {
namespace {

// A part while it is summed up.
struct Sum {
  Checked split;
  Checked replicated;
  Checked expert;
  Checked expert_active;

  Sum& operator+=(const Sum& other) {
    split += other.split;
    replicated += other.replicated;
    expert += other.expert;
    expert_active += other.expert_active;
    return *this;
  }
  Checked total() const { return split + replicated + expert; }
  Checked active() const { return split + replicated + expert_active; }
  PartParameters Get() const { return {split.value(), replicated.value(), expert.value(), expert_active.value()}; }
};

// The symbols of the formulas: h hidden size, a heads, g query groups, d head size.
class Counter {
 public:
  explicit Counter(const ModelSpec& model)
      : m_(model),
        attention_(model.attention),
        h_(model.hidden_size),
        a_(model.num_attention_heads),
        g_(model.num_query_groups),
        d_(model.kv_channels.value_or(0)),
        norm_(model.normalization == "LayerNorm" && !model.layernorm_no_bias ? Checked(2) * h_ : h_),
        gated_(model.gated_linear_unit ? 3 : 2) {}

  // What tells one layer of a model from another.
  struct Make {
    bool moe = false, linear = false;
    bool indexer = false;
    int64_t compress_ratio = 0;
    friend bool operator==(const Make&, const Make&) = default;
  };

  // Of decoder layer i; i == num_layers asks for the layer of an MTP depth, which has the kind of the last one.
  Make MakeOf(int64_t i) const {
    const int64_t last = i < m_.num_layers ? i : m_.num_layers - 1;
    const auto at = static_cast<size_t>(last), index = static_cast<size_t>(i);
    Make make;
    make.moe = !m_.moe_layer_freq.empty() && m_.moe_layer_freq[at] != 0;
    make.linear = !m_.linear_attention_freq.empty() && m_.linear_attention_freq[at] != 0;
    make.indexer = attention_ == "mla+dsa"            ? OwnsSparseIndexer(last)
                   : attention_ == "gqa+block-sparse" ? OwnsBlockIndexer(last)
                                                      : false;
    if (attention_ == "csa-hybrid" && index < m_.csa_compress_ratios.size())
      make.compress_ratio = m_.csa_compress_ratios[index];
    return make;
  }

  Sum Layer(const Make& make) const {
    Sum sum = make.moe ? Experts() : DenseMlp();
    sum += AttentionOf(make);
    sum.replicated += Checked(m_.norms_per_layer.value_or(2)) * norm_;
    return sum;
  }

  // A layer of a hybrid stack has one norm and one module.
  Sum Symbol(char symbol) const {
    Sum sum;
    if (symbol == 'M') sum = Mamba();
    if (symbol == '*') sum = GroupedAttention();
    if (symbol == '-') sum = DenseMlp();
    if (symbol == 'E') sum = Experts();
    sum.replicated += norm_;
    return sum;
  }

  // What each MTP depth adds to its layers: the projection of two hidden states to one, two input norms, a final norm.
  Sum MtpExtra() const { return {Checked(2) * h_ * h_, Checked(3) * norm_}; }

  // Final norm; with hyper-connections also the map that folds the residual streams back into one.
  Sum Head() const {
    Sum sum{0, norm_};
    if (attention_ == "csa-hybrid") {
      const Checked streams = N(m_.num_residual_streams);
      sum.replicated += streams * streams * h_ + streams + 1;
    }
    return sum;
  }

 private:
  static Checked N(const std::optional<int64_t>& size) { return size.value_or(0); }

  Sum AttentionOf(const Make& make) const {
    if (make.linear) return attention_ == "kda-mla-hybrid" ? KimiDelta() : GatedDelta();
    if (attention_ == "csa-hybrid") return Compressed(make.compress_ratio);
    if (attention_ == "mfa") return Factorised();
    if (m_.kv_lora_rank.has_value()) return Latent(make.indexer && attention_ == "mla+dsa");
    Sum sum = GroupedAttention();
    if (make.indexer && attention_ == "gqa+block-sparse") {
      const Checked n = N(m_.index_n_heads);
      const Checked size = N(m_.index_head_dim);
      sum.replicated += h_ * n * size + h_ * size + Checked(2) * size;
    }
    return sum;
  }

  // The sparse layers are the last ones: the dense start keeps full attention.
  bool OwnsBlockIndexer(int64_t layer) const { return layer >= m_.num_layers - m_.num_indexer_layers.value_or(0); }

  Sum GroupedAttention() const {
    Sum sum;
    sum.split = h_ * (a_ + Checked(2) * g_) * d_ + a_ * d_ * h_;
    if (m_.attention_output_gate) sum.split += h_ * a_ * d_;
    if (m_.add_qkv_bias.value_or(false)) sum.split += (a_ + Checked(2) * g_) * d_;
    if (m_.attn_out_bias) sum.replicated += h_;
    if (m_.softmax_type == "learnable") sum.split += a_;
    if (m_.qk_layernorm_kind == "per_head") sum.replicated += Checked(2) * d_;
    if (m_.qk_layernorm_kind == "full_dim") sum.replicated += (a_ + g_) * d_;
    return sum;
  }

  // Multi-latent attention. Megatron keeps the down projections whole on every TP rank.
  Sum Latent(bool indexer) const {
    const Checked q_rank = N(m_.q_lora_rank);
    const Checked kv_rank = N(m_.kv_lora_rank);
    const Checked nope = N(m_.qk_head_dim);
    const Checked rope = N(m_.qk_pos_emb_head_dim);
    const Checked v = N(m_.v_head_dim);
    Sum sum;
    if (m_.q_lora_rank.has_value()) {
      sum.replicated += h_ * q_rank + q_rank;
      sum.split += q_rank * a_ * (nope + rope);
    } else {
      sum.split += h_ * a_ * (nope + rope);
    }
    sum.replicated += h_ * (kv_rank + rope) + kv_rank;
    sum.split += kv_rank * a_ * (nope + v) + a_ * v * h_;
    if (m_.mla_output_gate) sum.split += h_ * a_ * v;
    if (indexer) {
      const Checked n = N(m_.dsa_indexer_n_heads);
      const Checked size = N(m_.dsa_indexer_head_dim);
      sum.replicated += q_rank * n * size + h_ * size + Checked(2) * size + h_ * n;
    }
    return sum;
  }

  // With a frequency F and an offset o: the first o layers and then the last of every F.
  bool OwnsSparseIndexer(int64_t layer) const {
    const int64_t offset = m_.dsa_indexer_skip_topk_offset.value_or(0);
    const int64_t frequency = m_.dsa_indexer_topk_freq.value_or(1);
    return layer < offset || (layer - offset) % frequency == frequency - 1;
  }

  Sum GatedDelta() const {
    const Checked keys = N(m_.linear_num_key_heads) * N(m_.linear_key_head_dim);
    const Checked value_heads = N(m_.linear_num_value_heads);
    const Checked values = value_heads * N(m_.linear_value_head_dim);
    Sum sum;
    sum.split = h_ * (Checked(2) * keys + Checked(2) * values + Checked(2) * value_heads) +
                N(m_.linear_conv_kernel_dim) * (Checked(2) * keys + values) + Checked(2) * value_heads + values * h_;
    sum.replicated = N(m_.linear_value_head_dim);
    return sum;
  }

  Sum KimiDelta() const {
    const Checked heads = N(m_.linear_num_key_heads);
    const Checked size = N(m_.linear_key_head_dim);
    const Checked width = heads * size;
    const Checked low_rank = h_ * size + size * width;
    Sum sum;
    sum.split = Checked(4) * h_ * width + Checked(3) * N(m_.linear_conv_kernel_dim) * width + low_rank +
                (m_.kda_full_gate ? h_ * width : low_rank) + width + heads + h_ * heads;
    sum.replicated = size;
    return sum;
  }

  Sum Mamba() const {
    const Checked heads = N(m_.mamba_num_heads);
    const Checked inner = heads * N(m_.mamba_head_dim);
    const Checked states = N(m_.mamba_num_groups) * N(m_.mamba_state_dim);
    const Checked conv = (inner + Checked(2) * states) * (N(m_.mamba_conv_kernel) + 1);  // weights and bias
    Sum sum;
    sum.split =
        h_ * (Checked(2) * inner + Checked(2) * states + heads) + conv + Checked(3) * heads + inner + inner * h_;
    return sum;
  }

  // DeepSeek-V4: one KV head, compressed keys on layers with a ratio, an indexer where the ratio is 4, and two
  // hyper-connection maps.
  Sum Compressed(int64_t ratio) const {
    const Checked q_rank = N(m_.q_lora_rank);
    const Checked o_rank = N(m_.o_lora_rank);
    Sum sum;
    sum.replicated = h_ * q_rank + q_rank + h_ * d_ + d_;
    sum.split = q_rank * a_ * d_ + a_ * d_ * o_rank + N(m_.o_groups) * o_rank * h_ + a_;
    const Checked overlap = ratio == 4 ? 2 : 1;
    if (ratio > 0) sum.replicated += Checked(2) * h_ * overlap * d_ + Checked(ratio) * overlap * d_ + d_;
    if (ratio == 4) {
      const Checked n = N(m_.dsa_indexer_n_heads);
      const Checked size = N(m_.dsa_indexer_head_dim);
      sum.replicated += q_rank * n * size + h_ * n + Checked(4) * h_ * size + Checked(8) * size + size;
    }
    const Checked streams = N(m_.num_residual_streams);
    const Checked mixes = streams * (streams + 2);
    sum.replicated += Checked(2) * (mixes * streams * h_ + mixes + 3);
    return sum;
  }

  // Multi-matrix factorisation (Step-3): queries through one shared rank.
  Sum Factorised() const {
    const Checked rank = N(m_.mfa_q_rank);
    Sum sum;
    sum.replicated = h_ * rank + rank + Checked(2) * h_ * g_ * d_;
    sum.split = rank * a_ * d_ + a_ * d_ * h_;
    return sum;
  }

  Sum DenseMlp() const {
    const Checked width = N(m_.ffn_hidden_size);
    Sum sum;
    sum.split = gated_ * h_ * width;
    if (m_.mlp_bias_dense) {
      sum.split += width;
      sum.replicated += h_;
    }
    return sum;
  }

  Sum Experts() const {
    const Checked experts = N(m_.num_moe_experts);
    const Checked width = N(m_.moe_ffn_hidden_size);
    const Checked latent = N(m_.moe_latent_size);
    Checked one = gated_ * (m_.moe_latent_size.has_value() ? latent : h_) * width;
    if (m_.expert_bias_terms) one += Checked(2) * width + h_;
    Sum sum;
    sum.expert = experts * one;
    sum.expert_active = N(m_.moe_router_topk) * one;
    sum.split = gated_ * h_ * N(m_.moe_shared_expert_intermediate_size);
    sum.replicated = h_ * experts;
    if (m_.moe_router_enable_expert_bias.value_or(false)) sum.replicated += experts;
    if (m_.router_bias) sum.replicated += experts;
    if (m_.moe_shared_expert_gate.value_or(false)) sum.replicated += h_;
    if (m_.moe_latent_size.has_value()) sum.replicated += Checked(2) * h_ * latent;
    if (m_.latent_norm) sum.replicated += latent;
    return sum;
  }

  const ModelSpec& m_;
  const absl::string_view attention_;  // m_.attention, which every layer is asked for
  Checked h_, a_, g_, d_, norm_, gated_;
};

}  // namespace

absl::StatusOr<ModelParameters> CountParameters(const ModelSpec& model) {
  for (const ModelFault& fault : CheckModel(model)) {
    return absl::InvalidArgumentError(absl::StrCat("field ", fault.field, ": ", fault.what));
  }
  const Counter counter(model);
  ModelParameters parameters;
  parameters.layers.reserve(static_cast<size_t>(std::min<int64_t>(model.num_layers, 1024)));
  Sum body;
  Sum mtp;
  if (model.hybrid_layer_pattern.has_value()) {
    for (char symbol : *model.hybrid_layer_pattern) {
      const Sum layer = counter.Symbol(symbol);
      body += layer;
      parameters.layers.push_back(layer.Get());
    }
    for (char symbol : model.mtp_hybrid_override_pattern.value_or("")) mtp += counter.Symbol(symbol);
  } else {
    // Most layers are of the make of the one before.
    Counter::Make make = counter.MakeOf(0);
    Sum layer = counter.Layer(make);
    PartParameters counted = layer.Get();
    for (int64_t i = 0; i < model.num_layers; ++i) {
      const Counter::Make next = counter.MakeOf(i);
      if (next != make) counted = (layer = counter.Layer(make = next)).Get();
      body += layer;
      parameters.layers.push_back(counted);
    }
    mtp = counter.Layer(counter.MakeOf(model.num_layers));
  }
  mtp += counter.MtpExtra();
  const Sum head = counter.Head();
  body += head;

  const Checked embedding = Checked(model.vocab_size) * model.hidden_size;
  const Checked positions = Checked(model.learned_positions.value_or(0)) * model.hidden_size;
  const Checked output = model.tie_embeddings.value_or(false) ? Checked(0) : embedding;
  const Checked outside = embedding + positions + output;
  const int64_t depths = model.mtp_num_layers.value_or(0);
  const Checked total = body.total() + outside;
  const Checked with_mtp = total + Checked(depths) * mtp.total();
  const Checked active = body.active() + outside;
  if (!with_mtp.ok() || !active.ok() || !mtp.active().ok()) {
    return absl::InvalidArgumentError("the model has more parameters than 64 bits can count");
  }
  if (depths > 0) parameters.mtp_depth = mtp.Get();
  parameters.mtp_depths = depths;
  parameters.embedding = embedding.value();
  parameters.positions = positions.value();
  parameters.output = output.value();
  parameters.head = head.Get();
  parameters.counts = {total.value(), with_mtp.value(), active.value(), (active - embedding).value(),
                       (active - embedding - output).value()};
  return parameters;
}

}  // namespace flightplan
