// What a rank holds whatever it computes: weights, gradients, optimizer state, and what the optimizer's step adds to
// them.
#include <algorithm>
#include <cmath>

#include "resolver/base/real.h"
#include "resolver/derive/layer_bytes.h"
#include "resolver/derive/memory.h"

namespace flightplan {
namespace {

// Bytes of an element with its share of the scales. MX: one byte for each 32
// (OCP Microscaling Formats 1.0); NVFP4: one for each 16; blockwise: four for each 128 x 128.
constexpr double kFp8Bytes = 1;
constexpr double kMxfp8Bytes = 1 + 1.0 / 32;
constexpr double kNvfp4Bytes = 0.5 + 1.0 / 16;
constexpr double kFp8BlockwiseBytes = 1 + 4.0 / (128 * 128);
// By rows and by columns; from this compute capability on one serves both where a tensor has one scale.
constexpr double kLayoutsOfAWeight = 2;
constexpr int kOneLayoutServesBoth = 10;
// FSDP gathers the layer in progress and the next one.
constexpr double kGatheredLayers = 2;

// Bytes of one weight of a linear layer. Low-precision GEMMs keep their own copies next to the bf16 weight, or in its
// place when the weight itself is kept in that precision. Two copies, by rows and by columns, but on Blackwell one
// layout serves both for per-tensor scales. Embeddings, norms and routers always stay in 16 bits.
double LinearWeightBytes(const Candidate& c, int cc_major) {
  const double plain = StreamBytes(c);
  if (!c.low_precision()) return plain;
  const bool per_tensor = c.precision == GemmPrecision::kFp8Tensorwise || c.precision == GemmPrecision::kFp8Delayed;
  const double layouts = per_tensor && cc_major >= kOneLayoutServesBoth ? 1 : kLayoutsOfAWeight;
  double copies = layouts * kFp8Bytes;
  if (c.precision == GemmPrecision::kNvfp4) copies = layouts * kNvfp4Bytes;
  if (c.precision == GemmPrecision::kMxfp8) copies = layouts * kMxfp8Bytes;
  if (c.precision == GemmPrecision::kFp8Blockwise) copies = layouts * kFp8BlockwiseBytes;
  return c.low_precision_weights ? copies : plain + copies;
}

}  // namespace

MemoryModel::Parameters MemoryModel::ParametersOf(int rank) const {
  const RankContents contents = ContentsOf(*c_.stages, rank);
  Parameters sum;
  static_cast<RankParameters&>(sum) = flightplan::ParametersOf(s_, c_, contents);
  const auto widen = [&](const PartParameters& part) {
    const RankParameters whole = flightplan::ParametersOf(part, c_);
    sum.widest = std::max(sum.widest, whole.dense() + whole.expert);
  };
  for (size_t k = 0; k < static_cast<size_t>(s_.kind_count); ++k) {
    if (contents.layers[k] > 0) widen(s_.kinds[k].parameters);
  }
  if (contents.mtp_depths > 0) widen(s_.mtp_depth);
  if (c_.adapters.any()) sum.adapters = AdapterParametersOf(s_, c_, contents, adapters_);
  return sum;
}

AdapterParameters MemoryModel::TrainedOf(const Parameters& p) const {
  return c_.adapters.any() ? p.adapters : AdapterParameters{p.dense(), p.expert};
}

AdapterParameters MemoryModel::OwnedOf(const Parameters& p) const {
  const AdapterParameters trained = TrainedOf(p);
  if (!c_.distributed_optimizer) return trained;
  if (c_.outer_shards_state) {
    return {trained.dense / D(c_.DataParallel() * c_.cp), trained.expert / D(c_.ExpertDataParallel())};
  }
  const double vocabulary = c_.adapters.any() ? 0 : p.vocabulary;
  return {(trained.dense - vocabulary) / dense_group_ + OwnedVocabulary(p), trained.expert / expert_group_};
}

// Whole, a rank has as many of its matrices as there are for each, the fullest one where there is one for several.
double MemoryModel::OwnedVocabulary(const Parameters& p) const {
  if (c_.adapters.any() || p.vocabulary <= 0) return 0;
  const double group = c_.distributed_optimizer ? dense_group_ : 1;
  const double matrix = vocab_ * D(s_.hidden) / c_.tp;
  return c_.whole_parameters ? std::ceil(p.vocabulary / matrix / group) * matrix : p.vocabulary / group;
}

AdapterParameters MemoryModel::MomentsOf(const Parameters& p) const {
  if (!c_.whole_moments) return OwnedOf(p);
  const AdapterParameters trained = TrainedOf(p);
  return {trained.dense * c_.tp, trained.expert * c_.etp};
}

void MemoryModel::AddStatic(const Parameters& p, StageBytes* bytes) const {
  const double weight = StreamBytes(c_);
  const double linear = LinearWeightBytes(c_, device_.cc_major);
  const auto [dense, expert] = TrainedOf(p);
  // FSDP divides them within an instance (Megatron-LM core/distributed/fsdp/mcore_fsdp_adapter.py:346), and its buffers
  // lie so whatever the outer groups share (megatron_fsdp/param_and_grad_buffer.py, hfsdp_helper_wbuf).
  const double weights_dense = c_.shard_weights ? dense_group_ : 1;
  const double weights_expert = c_.shard_weights ? expert_group_ : 1;
  const double grads_dense = c_.shard_gradients ? dense_group_ : 1;
  const double grads_expert = c_.shard_gradients ? expert_group_ : 1;
  (*bytes)[MemoryPart::kParameters] = (p.linear * linear + (p.other + p.adapters.dense) * weight) / weights_dense +
                                      (p.expert * linear + p.adapters.expert * weight) / weights_expert;
  if (c_.shard_weights) (*bytes)[MemoryPart::kParameters] += kGatheredLayers * linear * p.widest;
  // Its units are layers; the modules beside them are gathered for the first forward and released with the step
  // (megatron_fsdp/megatron_fsdp.py:1074).
  const double whole = c_.whole_vocabulary ? p.vocabulary : 0;
  (*bytes)[MemoryPart::kParameters] += weight * whole * (1 - 1 / weights_dense);
  (*bytes)[MemoryPart::kGradients] = c_.gradient_bytes * (dense / grads_dense + expert / grads_expert);
  if (c_.shard_gradients && !c_.adapters.any()) {
    const double matrix = std::min(whole, vocab_ * D(s_.hidden) / c_.tp);
    (*bytes)[MemoryPart::kGradients] += c_.gradient_bytes * std::max(kGatheredLayers * p.widest, matrix);
  }
  // Offloading takes the moments; the main parameters go with them only where the optimizer keeps those itself.
  const double on_gpu = 1 - c_.optimizer_offload;
  const AdapterParameters owned = OwnedOf(p), moments = MomentsOf(p);
  (*bytes)[MemoryPart::kOptimizerState] =
      c_.main_param_bytes * (c_.precision_aware ? on_gpu : 1) * (owned.dense + owned.expert) +
      on_gpu * (c_.moment1_bytes * (moments.dense + moments.expert) +
                c_.moment2_bytes * (c_.one_moment_of_matrices ? OwnedVocabulary(p) : moments.dense + moments.expert));
}

double MemoryModel::ParametersOnHost(int rank) const {
  if (c_.optimizer_offload <= 0) return 0;
  const AdapterParameters owned = OwnedOf(ParametersOf(rank));
  return c_.optimizer_offload * (owned.dense + owned.expert);
}

// What exists during the optimizer's step only, when the activations are gone. The optimizers of dense and of expert
// parameters copy all their gradients first and then step in turn.
double MemoryModel::StepBytes(const Parameters& p) const {
  const auto [dense, expert] = OwnedOf(p);
  const double on_gpu = 1 - c_.optimizer_offload;
  double bytes = c_.gradient_copy ? kFp32Bytes * (dense + expert) * on_gpu : 0;
  // Transformer Engine's Adam brings moments that are kept in fewer bits to FP32 for all parameters of a group at once
  // (transformer_engine/pytorch/optimizers/fused_adam.py, unscaled_lists).
  const auto widens = [](uint8_t moment) { return moment > 0 && moment < kFp32Bytes ? kFp32Bytes : 0; };
  const double widened = widens(c_.moment1_bytes) + widens(c_.moment2_bytes);
  const AdapterParameters moments = MomentsOf(p);
  bytes += widened * std::max(moments.dense, moments.expert) * on_gpu;
  // Whole parameters come from their ranks in buffers of their own (layer_wise_optimizer.py:843).
  if (c_.whole_parameters && !c_.overlap_param_gather) {
    const double gathered = std::max(dense_group_ > 1 ? p.dense() : 0, expert_group_ > 1 ? p.expert : 0);
    bytes = std::max(bytes, StreamBytes(c_) * gathered);
  }
  return bytes;
}

// With the weight gradient added to the gradient buffer by the GEMM itself, Transformer Engine hands autograd one dummy
// of each distinct weight shape, which it keeps. Frozen weights have none.
void MemoryModel::AddScratch() {
  if (c_.adapters.any() || !c_.grad_accumulation_fusion || !c_.transformer_engine || c_.shard_gradients) return;
  const auto kinds_with = [this](const auto& has) {
    unsigned kinds = 0;
    for (int k = 0; k < s_.kind_count; ++k) {
      if (has(s_.kinds[static_cast<size_t>(k)])) kinds |= 1u << k;
    }
    return kinds;
  };
  const auto attention = [&](auto... wanted) {
    return kinds_with([=](const LayerKind& kind) { return ((kind.attention == wanted) || ...); });
  };
  const auto mlp = [&](MlpKind wanted) {
    return kinds_with([=](const LayerKind& kind) { return kind.mlp == wanted; });
  };
  const auto add = [this](unsigned kinds, double weights) { scratch_[scratch_count_++] = {kinds, weights}; };
  const double h = D(s_.hidden), fc1 = s_.gated ? 2 : 1;
  // Of the output layer, too, unless the loss has it inside (Megatron-LM core/tensor_parallel/layers.py:754).
  if (c_.loss != LossKind::kLinearFused) head_scratch_ = vocab_ * h / c_.tp;
  if (const unsigned kinds = attention(AttentionKind::kGrouped, AttentionKind::kFactorised); kinds != 0) {
    add(kinds, h * D((2 * s_.heads + 2 * s_.groups) * s_.head_dim) / c_.tp);
  }
  if (const unsigned kinds = attention(AttentionKind::kLatent, AttentionKind::kCompressed); kinds != 0) {
    const double query = D(s_.heads * (s_.qk_nope + s_.qk_rope));
    add(kinds, s_.q_rank > 0 ? h * D(s_.q_rank) + D(s_.q_rank) * query / c_.tp : h * query / c_.tp);
    add(kinds, h * D(s_.kv_rank + s_.qk_rope) + D(s_.kv_rank) * D(s_.heads * (s_.qk_nope + s_.v_dim)) / c_.tp);
    add(kinds, D(s_.heads * s_.v_dim) * h / c_.tp);
  }
  if (const unsigned kinds = attention(AttentionKind::kGatedDelta, AttentionKind::kKimiDelta); kinds != 0) {
    const double key = D(s_.linear_key_heads * s_.linear_key_dim),
                 value = D(s_.linear_value_heads * s_.linear_value_dim);
    add(kinds, h * (2 * key + 3 * value) / c_.tp);
  }
  if (const unsigned kinds = attention(AttentionKind::kMamba); kinds != 0) {
    add(kinds, 3 * h * D(s_.mamba_heads * s_.mamba_head_dim) / c_.tp);
  }
  if (const unsigned kinds = mlp(MlpKind::kDense); kinds != 0) add(kinds, (fc1 + 1) * h * D(s_.ffn) / c_.tp);
  if (const unsigned kinds = mlp(MlpKind::kMoe); kinds != 0) {
    add(kinds, (fc1 + 1) * h * D(s_.shared_ffn) / c_.tp);
    add(kinds, (fc1 + 1) * D(s_.latent > 0 ? s_.latent : s_.hidden) * D(s_.expert_ffn) / c_.etp);
  }
}

double MemoryModel::WeightScratch(int rank) const {
  unsigned present = 0;
  double weights = 0;
  for (int j = 0; j < c_.vpp; ++j) {
    const ChunkContents& chunk = c_.stages->chunk(rank, j);
    if (chunk.loss) weights += head_scratch_;
    for (int k = 0; k < s_.kind_count; ++k) {
      const auto at = static_cast<size_t>(k);
      if (chunk.layers[at] > 0 || (chunk.mtp_depths > 0 && s_.mtp_layers[at] > 0)) present |= 1u << k;
    }
  }
  for (size_t i = 0; i < scratch_count_; ++i) {
    if ((scratch_[i].kinds & present) != 0) weights += scratch_[i].weights;
  }
  return StreamBytes(c_) * weights;
}

}  // namespace flightplan
