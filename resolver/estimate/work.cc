#include "resolver/estimate/work.h"

#include <algorithm>

#include "resolver/base/real.h"
#include "resolver/derive/candidate.h"

namespace flightplan {
namespace {

using Split = Linear::Split;

// Kernels of one forward pass, counted in what the modules run: a profile of Transformer Engine's modules for
// attention; a whole Qwen3 MoE layer, forward and backward, comes to the 151 kernels of Megatron-Bridge's published
// profile (skills/nemo-mbridge-perf-moe-comm-overlap). For the others counted in Megatron-Core's code, none in a
// profile.
struct Kernels {
  static constexpr double kAttention = 9, kQkNorms = 2, kOutputGate = 2, kLatent = 18, kLinearAttention = 24,
                          kMamba = 12, kFactorised = 4, kCompressed = 22, kIndexer = 10;
};

// Reads and writes of a value in BF16, by modules that pass over memory. Chosen from what the modules do, none measured
// alone: the calibration fits what is common to all of them.
constexpr double Passes(double count) { return count * kBf16Bytes; }
constexpr double kRotaryPasses = 4;  // rotary embedding and its copies
constexpr double kNormPasses = 2;
constexpr double kLowRankPasses = 4;  // split and norm of latent attention's low ranks
constexpr double kGatePasses = 4;     // attention's output and its gate
// Linear attention: the causal convolution over what is projected, on top of its window; norm, gate and output.
constexpr double kConvolutionPasses = 4, kLinearValuePasses = 12;
constexpr double kMambaInnerPasses = 10, kMambaGroupPasses = 5;  // convolution, scan, gated norm
// FLOPs that a token costs for each value of a recurrent state: decay, delta rule, outer product, read out. Chosen.
constexpr double kDeltaRuleFlops = 8, kMambaFlops = 7;
// A multiplication and an addition; and a backward pass does the forward's products twice.
constexpr double kFlopsPerWeight = 2, kForwardAndBackward = 3;

void Add(AttentionWork* work, double in, double out, Split split) {
  if (work->linear_count < static_cast<int>(work->linears.size()) && in > 0 && out > 0)
    work->linears[static_cast<size_t>(work->linear_count++)] = {in, out, split};
}

AttentionWork GroupedAttention(const ModelShape& s, int64_t window) {
  AttentionWork work;
  const double h = D(s.hidden), heads = D(s.heads), groups = D(s.groups), size = D(s.head_dim);
  Add(&work, h, (heads * (s.output_gate ? 2 : 1) + 2 * groups) * size, Split::kColumn);
  Add(&work, heads * size, h, Split::kRow);
  work.heads = heads;
  work.groups = groups;
  work.qk_size = work.v_size = size;
  work.window = D(window);
  work.split_bytes = Passes(kRotaryPasses) * (heads + groups) * size + Passes(kNormPasses) * D(s.qk_norm_width);
  work.kernels = Kernels::kAttention + (s.qk_norm_width > 0 ? Kernels::kQkNorms : 0);
  if (s.output_gate) {
    work.split_bytes += Passes(kGatePasses) * heads * size;
    work.kernels += Kernels::kOutputGate;
  }
  return work;
}

AttentionWork LatentAttention(const ModelShape& s) {
  AttentionWork work;
  const double h = D(s.hidden), heads = D(s.heads), q_rank = D(s.q_rank), kv_rank = D(s.kv_rank);
  const double qk = D(s.qk_nope + s.qk_rope), rope = D(s.qk_rope), v = D(s.v_dim);
  Add(&work, h, q_rank, Split::kWhole);
  Add(&work, q_rank > 0 ? q_rank : h, heads * qk, Split::kColumn);
  Add(&work, h, kv_rank + rope, Split::kWhole);
  Add(&work, kv_rank, heads * (D(s.qk_nope) + v), Split::kColumn);
  Add(&work, heads * v, h, Split::kRow);
  work.heads = work.groups = heads;
  work.qk_size = qk;
  work.v_size = v;
  // One kernel turns the query's rotary part in place, one splits the up projection and puts the key together
  // (Megatron-Core fusions/fused_mla_yarn_rope_apply.py).
  work.up_projection_bytes = kBf16Bytes * heads * (2 * rope + (D(s.qk_nope) + v) + qk + v);
  work.split_bytes = work.up_projection_bytes;
  work.replicated_bytes = Passes(kLowRankPasses) * (q_rank + kv_rank + rope);
  work.kernels = Kernels::kLatent;
  work.latent = true;
  return work;
}

// DeepSeek sparse attention: latent attention over the chosen keys, with the latent itself for all heads' key and value
// (Megatron-LM core/transformer/experimental_attention_variant/absorbed_mla.py). What takes a query to the latent and
// the output back costs as much as the up projection of keys and values.
AttentionWork SparseLatentAttention(const ModelShape& s, bool indexer) {
  AttentionWork work = LatentAttention(s);
  work.groups = 1;
  work.qk_size = D(s.kv_rank + s.qk_rope);
  work.v_size = D(s.kv_rank);
  work.ratio = 1;
  work.chosen = D(s.indexer_topk);
  work.unmeasured = true;
  // The query is put to the latent, copied, and joined with its rotary part; the output is read once more.
  work.up_projection_bytes = kBf16Bytes * work.heads * (D(4 * s.kv_rank) + 2 * work.qk_size);
  work.split_bytes = work.up_projection_bytes;
  if (!indexer) return work;
  work.index_heads = D(s.indexer_heads);
  work.index_width = D(s.indexer_heads * s.indexer_dim);
  work.index_weights =
      D(s.q_rank > 0 ? s.q_rank : s.hidden) * work.index_width + D(s.hidden) * D(s.indexer_dim + s.indexer_heads);
  work.kernels += Kernels::kIndexer;
  return work;
}

// Gated delta net and Kimi delta attention: a chunked scan with a state of key x value per head.
AttentionWork LinearAttention(const ModelShape& s) {
  AttentionWork work;
  const double h = D(s.hidden), value_heads = D(s.linear_value_heads);
  const double key = D(s.linear_key_heads * s.linear_key_dim), value = D(s.linear_value_heads * s.linear_value_dim);
  Add(&work, h, 2 * key + 2 * value + 2 * value_heads, Split::kColumn);
  Add(&work, value, h, Split::kRow);
  work.scan_flops = kDeltaRuleFlops * value_heads * D(s.linear_key_dim) * D(s.linear_value_dim);
  work.scan_state = value_heads * D(s.linear_key_dim) * D(s.linear_value_dim);
  work.delta_heads = value_heads;
  work.exchanged = 2 * key + 3 * value + 2 * value_heads;
  work.exchanges = 2;
  work.split_bytes =
      Passes(D(s.conv_kernel) + kConvolutionPasses) * (2 * key + value) + Passes(kLinearValuePasses) * value;
  work.kernels = Kernels::kLinearAttention;
  return work;
}

AttentionWork Mamba(const ModelShape& s) {
  AttentionWork work;
  const double h = D(s.hidden), heads = D(s.mamba_heads), inner = heads * D(s.mamba_head_dim);
  const double grouped = D(s.mamba_groups * s.mamba_state);
  Add(&work, h, 2 * inner + 2 * grouped + heads, Split::kColumn);
  Add(&work, inner, h, Split::kRow);
  work.scan_flops = kMambaFlops * inner * D(s.mamba_state);
  work.scan_state = inner * D(s.mamba_state);
  work.exchanged = 3 * inner + 2 * grouped + heads;
  work.exchanges = 6;
  work.split_bytes = Passes(kMambaInnerPasses) * inner + Passes(kMambaGroupPasses) * grouped;
  work.kernels = Kernels::kMamba;
  return work;
}

AttentionWork Factorised(const ModelShape& s) {
  AttentionWork work = GroupedAttention(s, 0);
  const double h = D(s.hidden), rank = D(s.mfa_rank), query = work.heads * work.qk_size;
  work.linear_count = 0;
  Add(&work, h, rank, Split::kWhole);
  Add(&work, rank, query, Split::kColumn);
  Add(&work, h, 2 * work.groups * work.qk_size, Split::kColumn);
  Add(&work, query, h, Split::kRow);
  work.kernels += Kernels::kFactorised;
  return work;
}

// DeepSeek-V4: one key and value head, a window and compressed blocks.
AttentionWork Compressed(const ModelShape& s, const LayerKind& kind) {
  AttentionWork work;
  const double h = D(s.hidden), heads = D(s.heads), size = D(s.head_dim);
  Add(&work, h, D(s.q_rank), Split::kWhole);
  Add(&work, D(s.q_rank), heads * size, Split::kColumn);
  Add(&work, h, size, Split::kWhole);
  Add(&work, heads * size, D(s.o_rank), Split::kColumn);
  Add(&work, D(s.o_rank * s.o_groups), h, Split::kRow);
  work.heads = heads;
  work.groups = 1;
  work.qk_size = work.v_size = size;
  work.window = D(kind.window);
  work.unmeasured = true;
  work.split_bytes = Passes(kRotaryPasses) * heads * size;
  work.kernels = Kernels::kCompressed + (kind.indexer ? Kernels::kIndexer : 0);
  work.ratio = D(kind.compress_ratio);
  // Keys and their gates, of overlapping blocks where an indexer chooses among them.
  const double overlap = kind.indexer ? 2 : 1;
  if (kind.compress_ratio > 0) Add(&work, h, 2 * overlap * size, Split::kWhole);
  if (!kind.indexer) return work;
  work.chosen = D(s.indexer_topk);
  work.index_heads = D(s.indexer_heads);
  work.index_width = D(s.indexer_heads * s.indexer_dim);
  work.index_weights = D(s.q_rank) * work.index_width + h * (4.0 * D(s.indexer_dim) + D(s.indexer_heads));
  return work;
}

AttentionWork AttentionOf(const ModelShape& s, const LayerKind& kind) {
  switch (kind.attention) {
    case AttentionKind::kNone:
      return {};
    case AttentionKind::kGrouped:
      return GroupedAttention(s, kind.window);
    case AttentionKind::kLatent:
      return s.indexer_topk > 0 ? SparseLatentAttention(s, kind.indexer) : LatentAttention(s);
    case AttentionKind::kGatedDelta:
    case AttentionKind::kKimiDelta:
      return LinearAttention(s);
    case AttentionKind::kMamba:
      return Mamba(s);
    case AttentionKind::kCompressed:
      return Compressed(s, kind);
    case AttentionKind::kFactorised:
      return Factorised(s);
  }
  return {};
}

MlpWork MlpOf(const ModelShape& s, const LayerKind& kind) {
  MlpWork work;
  work.gated = s.gated;
  work.activation = s.activation;
  if (kind.mlp == MlpKind::kDense) work.width = D(s.ffn);
  if (kind.mlp != MlpKind::kMoe) return work;
  work.experts = D(s.experts);
  work.topk = D(s.topk);
  work.expert_width = D(s.expert_ffn);
  work.shared_width = D(s.shared_ffn);
  work.latent = D(s.latent);
  work.router_groups = D(s.router_groups);
  work.router_group_topk = D(s.router_group_topk);
  work.bias = s.expert_bias;
  return work;
}

}  // namespace

ModelWork WorkOf(const ModelShape& shape) {
  ModelWork work;
  work.hidden = D(shape.hidden);
  work.vocabulary = D(shape.vocab);
  work.kind_count = shape.kind_count;
  work.totals = shape.totals;
  work.mtp_layers = shape.mtp_layers;
  work.mtp_depths = D(shape.mtp_depths);
  work.shape = std::make_shared<const ModelShape>(shape);
  for (size_t i = 0; i < static_cast<size_t>(shape.kind_count); ++i) {
    const LayerKind& kind = shape.kinds[i];
    LayerWork& layer = work.kinds[i];
    layer.attention = AttentionOf(shape, kind);
    layer.mlp = MlpOf(shape, kind);
    layer.norms = shape.norms;
    layer.streams = std::max(1.0, D(shape.residual_streams));
    layer.adapters = AdapterSitesOf(shape, kind);
  }
  return work;
}

namespace {

// Weights that a token passes.
double ActiveWeights(const LayerWork& layer, double h) {
  double weights = 0;
  const AttentionWork& attention = layer.attention;
  for (int i = 0; i < attention.linear_count; ++i) {
    weights += attention.linears[static_cast<size_t>(i)].in * attention.linears[static_cast<size_t>(i)].out;
  }
  const MlpWork& mlp = layer.mlp;
  const double matrices = mlp.gated ? 3 : 2;
  weights += matrices * h * mlp.width;
  if (mlp.experts > 0) {
    const double in = mlp.latent > 0 ? mlp.latent : h;
    weights += matrices * in * mlp.expert_width * mlp.topk + matrices * h * mlp.shared_width;
    if (mlp.latent > 0) weights += 2 * h * mlp.latent;
  }
  return weights;
}

}  // namespace

double TailLayers(const ModelWork& work) {
  double layers = 0, weights = 0, mtp = 0;
  for (size_t i = 0; i < static_cast<size_t>(work.kind_count); ++i) {
    const double of_kind = ActiveWeights(work.kinds[i], work.hidden);
    layers += work.totals[i];
    weights += work.totals[i] * of_kind;
    mtp += work.mtp_layers[i] * of_kind;
  }
  const double heads = work.hidden * work.vocabulary * (1 + work.mtp_depths);
  return weights > 0 ? (heads + work.mtp_depths * (mtp + 2 * work.hidden * work.hidden)) * layers / weights : 0;
}

double KeysOf(const AttentionWork& work, double seq_length) {
  if (seq_length <= 0) return 0;
  double keys = 0;
  if (work.ratio > 0) {
    const double all = seq_length / work.ratio, most = work.chosen > 0 ? std::min(work.chosen, all) : all;
    keys = most * (1 - most / (2 * all));
    if (work.window <= 0) return keys;
  }
  const double w = work.window;
  return keys + (w > 0 && w < seq_length ? w - w * (w - 1) / (2 * seq_length) : seq_length / 2);
}

double IndexerFlops(const AttentionWork& work, double seq_length, IndexerLoss loss) {
  if (work.index_width <= 0) return 0;
  const double scores = work.index_width + work.index_heads, dense = seq_length / work.ratio / 2;
  double flops = work.index_weights + dense * scores;
  if (loss != IndexerLoss::kNone) {
    // Its own weights' gradients, and scores against what attention gives to the same keys.
    const double keys = loss == IndexerLoss::kAll ? dense : std::min(dense, KeysOf(work, seq_length));
    flops += work.index_weights + keys * (2 * scores + work.heads * work.qk_size);
  }
  return kFlopsPerWeight * flops;
}

double FlopsPerToken(const ModelWork& work, double seq_length, IndexerLoss loss) {
  const double h = work.hidden;
  const auto layer_flops = [&](const LayerWork& layer) {
    const AttentionWork& attention = layer.attention;
    const double flops =
        kFlopsPerWeight * attention.heads * (attention.qk_size + attention.v_size) * KeysOf(attention, seq_length) +
        attention.scan_flops + kFlopsPerWeight * ActiveWeights(layer, h);
    return flops + IndexerFlops(attention, seq_length, loss) / kForwardAndBackward;
  };
  double forward = kFlopsPerWeight * h * work.vocabulary * (1 + work.mtp_depths);
  for (int i = 0; i < work.kind_count; ++i) {
    const auto at = static_cast<size_t>(i);
    const double count = work.totals[at] + work.mtp_depths * work.mtp_layers[at];
    if (count > 0) forward += count * layer_flops(work.kinds[at]);
  }
  forward += work.mtp_depths * kFlopsPerWeight * 2 * h * h;  // a depth's projection of two hidden states to one
  return kForwardAndBackward * forward;
}

}  // namespace flightplan
