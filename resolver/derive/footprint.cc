#include "resolver/derive/footprint.h"

#include <algorithm>
#include <cmath>

#include "resolver/derive/parameters.h"

namespace flightplan {
namespace {

double Or(const std::optional<int64_t>& value, double fallback) {
  return value.has_value() ? static_cast<double>(*value) : fallback;
}

// How often each kind of block occurs. In a plain model a layer is attention plus MLP; in a hybrid pattern every symbol
// is a layer of its own.
struct Blocks {
  double attention = 0, linear = 0, mamba = 0, dense_mlp = 0, moe = 0;
  double norms = 0;
};

Blocks CountBlocks(const ModelSpec& model) {
  Blocks blocks;
  const auto layers = static_cast<double>(model.num_layers);
  if (model.hybrid_layer_pattern.has_value()) {
    for (char symbol : *model.hybrid_layer_pattern) {
      if (symbol == 'M') blocks.mamba += 1;
      if (symbol == '*') blocks.attention += 1;
      if (symbol == '-') blocks.dense_mlp += 1;
      if (symbol == 'E') blocks.moe += 1;
    }
    blocks.norms = blocks.mamba + blocks.attention + blocks.dense_mlp + blocks.moe;
    return blocks;
  }
  blocks.linear = Or(model.num_linear_attention_layers, 0);
  if (!model.linear_attention_freq.empty()) {
    blocks.linear =
        static_cast<double>(std::count(model.linear_attention_freq.begin(), model.linear_attention_freq.end(), 1));
  }
  blocks.linear = std::min(blocks.linear, layers);
  blocks.attention = layers - blocks.linear;
  blocks.moe = static_cast<double>(MoeLayerCount(model));
  blocks.dense_mlp = layers - blocks.moe;
  blocks.norms = 2 * layers;
  return blocks;
}

double Gate(const ModelSpec& model) { return model.gated_linear_unit ? 3 : 2; }

}  // namespace

int64_t MoeLayerCount(const ModelSpec& model) {
  if (!model.is_moe()) return 0;
  if (model.hybrid_layer_pattern.has_value()) {
    return std::count(model.hybrid_layer_pattern->begin(), model.hybrid_layer_pattern->end(), 'E');
  }
  if (model.moe_layer_freq.empty()) return model.num_layers;
  return std::count(model.moe_layer_freq.begin(), model.moe_layer_freq.end(), 1);
}

ParameterSplit SplitParameters(const ModelSpec& model) {
  ParameterSplit split;
  const auto h = static_cast<double>(model.hidden_size);
  const Blocks blocks = CountBlocks(model);
  split.embedding = static_cast<double>(model.vocab_size) * h;
  split.output = model.tie_embeddings.value_or(false) ? 0 : split.embedding;
  const double expert_width = model.moe_latent_size.has_value() ? static_cast<double>(*model.moe_latent_size) : h;
  split.experts =
      blocks.moe * Or(model.num_moe_experts, 0) * Gate(model) * expert_width * Or(model.moe_ffn_hidden_size, 0);
  if (model.computed.has_value()) {
    const auto total = static_cast<double>(std::max(model.computed->total, model.computed->total_with_mtp));
    split.dense = std::max(0.0, total - split.experts - split.embedding - split.output);
    return split;
  }
  const absl::StatusOr<ModelParameters> counted = CountParameters(model);
  if (counted.ok()) {
    const auto total = static_cast<double>(std::max(counted->counts.total, counted->counts.total_with_mtp));
    split.dense = std::max(0.0, total - split.experts - split.embedding - split.output);
  }
  return split;
}

Footprint EstimateFootprint(const ModelSpec& model, const FootprintLayout& layout, const FootprintPrecision& precision,
                            unsigned recompute) {
  Footprint out;
  auto at_least_one = [](int64_t v) { return static_cast<double>(std::max<int64_t>(1, v)); };
  const double t = at_least_one(layout.tp), p = at_least_one(layout.pp), v = at_least_one(layout.vpp);
  const double c = at_least_one(layout.cp), e = at_least_one(layout.ep), q = at_least_one(layout.etp);
  const double world = at_least_one(layout.world);
  const double dp_cp =
      std::max(1.0, world / (t * p));  // the dense optimizer states are sharded over data and context ranks
  const double edp = std::max(1.0, world / (q * e * p));

  // Static part, on a middle stage plus one embedding matrix (the first and the last stage hold one each).
  const ParameterSplit split = SplitParameters(model);
  const double dense =
      (split.dense / p + (p > 1 ? std::max(split.embedding, split.output) : split.embedding + split.output)) / t;
  const double experts = split.experts / (p * e * q);
  const double shard_dense = precision.distributed_optimizer ? dp_cp : 1,
               shard_experts = precision.distributed_optimizer ? edp : 1;
  const double whole_dense = layout.fully_sharded ? dp_cp : 1, whole_experts = layout.fully_sharded ? edp : 1;
  out.weights = precision.weight_bytes * (dense / whole_dense + experts / whole_experts);
  out.gradients = precision.gradient_bytes * (dense / whole_dense + experts / whole_experts);
  out.optimizer = precision.optimizer_bytes * (dense / shard_dense + experts / shard_experts) *
                  (1 - precision.optimizer_offload_fraction);

  // Activations of one layer of average make, bytes per token of the context shard.
  const Blocks blocks = CountBlocks(model);
  const auto h = static_cast<double>(model.hidden_size);
  const auto heads = static_cast<double>(model.num_attention_heads);
  const auto groups = static_cast<double>(model.num_query_groups);
  const double head = Or(model.kv_channels, heads > 0 ? h / heads : 0);
  const double gemm = precision.gemm_input_bytes;
  const double sp = layout.sequence_parallel ? t : 1;  // what sequence parallelism divides
  const double n = static_cast<double>(layout.micro_batch_size) * static_cast<double>(layout.seq_length) / c;

  double per_token = 0;  // summed over all layers of the model
  const bool drop_norm = (recompute & kRecomputeLayernorm) != 0;
  per_token += blocks.norms * (2 * h + (drop_norm ? 0 : gemm * h)) / sp;
  if (model.is_mla()) {
    const double nope = Or(model.qk_head_dim, 128), rope = Or(model.qk_pos_emb_head_dim, 64),
                 value = Or(model.v_head_dim, 128);
    const double latents = 4 * Or(model.q_lora_rank, 0) + 4 * Or(model.kv_lora_rank, 0) + 2 * rope;
    const double up = 2 * heads * (nope + rope) * 2 + 2 * heads * (nope + value);
    per_token += blocks.attention * (latents / sp + ((recompute & kRecomputeMlaUpProj) != 0 ? 0 : up / t) +
                                     (2 * heads * value + 4 * heads) / t);
  } else {
    double attention = 2 * (heads + 2 * groups) * head + 2 * heads * head + 4 * heads;
    if (model.qk_layernorm.value_or(false)) attention += 2 * (heads + groups) * head;
    if (model.attention_output_gate) attention += 4 * heads * head;
    per_token += blocks.attention * attention / t;
  }
  if (blocks.linear > 0) {
    const double key = Or(model.linear_num_key_heads, heads) * Or(model.linear_key_head_dim, head);
    const double value = Or(model.linear_num_value_heads, heads) * Or(model.linear_value_head_dim, head);
    const double states = 4 * value * Or(model.linear_key_head_dim, head) / 64;  // one state per chunk of 64 tokens
    per_token += blocks.linear * (4 * (2 * key + 2 * value) + states + 4 * value) / t;
  }
  if (blocks.mamba > 0) {
    const double inner = Or(model.mamba_num_heads, 0) * Or(model.mamba_head_dim, 0);
    const double state = Or(model.mamba_state_dim, 128);
    const double projected = 2 * inner + 2 * Or(model.mamba_num_groups, 1) * state + Or(model.mamba_num_heads, 0);
    // The memory-efficient path keeps the projection and the scan's output, and computes convolution and states again.
    per_token += blocks.mamba * (2 * projected + 2 * inner) / t;
  }
  if ((recompute & kRecomputeMlp) == 0) {
    const double f = Or(model.ffn_hidden_size, 0);
    per_token += blocks.dense_mlp * (model.gated_linear_unit ? 4 * f + gemm * f : 2 * f + gemm * f) / t;
  }
  if (blocks.moe > 0 && (recompute & kRecomputeMoe) == 0) {
    const double experts_total = Or(model.num_moe_experts, 0), f = Or(model.moe_ffn_hidden_size, 0);
    const double copies = Or(model.moe_router_topk, 1) * precision.expert_imbalance;
    const double width = model.moe_latent_size.has_value() ? static_cast<double>(*model.moe_latent_size) : h;
    double row = gemm * width + (model.gated_linear_unit ? 4 : 2) * f / q;
    if ((recompute & kRecomputeMoeAct) == 0) row += gemm * f / q;
    double moe = 9 * experts_total / sp + copies * (row + 12) / t;
    if ((recompute & kRecomputeSharedExperts) == 0) {
      const double shared = Or(model.moe_shared_expert_intermediate_size, 0);
      moe += (model.gated_linear_unit ? 4 + gemm : 2 + gemm) * shared / t;
    }
    per_token += blocks.moe * moe;
  }
  double layer = n * per_token / std::max(1.0, static_cast<double>(model.num_layers));
  if ((recompute & kRecomputeFull) != 0) layer = 2 * h * n / sp;

  // Layers in flight: the first stage keeps most, the last one holds the logits on top.
  const double stage_layers = std::ceil(static_cast<double>(model.num_layers) / p);
  const double m = layout.microbatches > 0 ? static_cast<double>(layout.microbatches) : 1e9;
  double first = stage_layers, last = stage_layers;
  if (p > 1 && v <= 1) first = stage_layers * std::min(m, p);
  if (p > 1 && v > 1) {
    first = stage_layers / v * std::min(m * v, 2 * (p - 1) + (v - 1) * p + 1);
    last = stage_layers / v * std::min(m * v, (v - 1) * p + 1);
  }
  const double mtp = Or(model.mtp_num_layers, 0);
  const double logits = 4 * n * static_cast<double>(model.vocab_size) / t * (1 + mtp / 2);
  if (first * layer > last * layer + logits) {
    out.activations = first * layer;
  } else {
    out.activations = last * layer;
    out.logits = logits;
  }
  return out;
}

}  // namespace flightplan
