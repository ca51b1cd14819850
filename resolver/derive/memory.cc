#include "resolver/derive/memory.h"

#include <algorithm>
#include <cmath>

#include "resolver/catalog/memory_coefficients.h"

namespace flightplan {
namespace {

double D(int64_t size) { return static_cast<double>(size); }

// Bytes of one weight of a linear layer. Low-precision GEMMs keep their own copies next to the bf16 weight, or in its
// place when the weight itself is kept in that precision. Two copies, by rows and by columns, but on Blackwell one
// layout serves both for per-tensor scales. Embeddings, norms and routers always stay in 16 bits.
double LinearWeightBytes(const Candidate& c, int cc_major) {
  const double plain = StreamBytes(c);
  if (!c.low_precision()) return plain;
  double copies = 2;
  if (c.precision == GemmPrecision::kNvfp4) copies = 2 * (0.5 + 1.0 / 16);
  if (c.precision == GemmPrecision::kMxfp8) copies = 2 * (1 + 1.0 / 32);
  if (c.precision == GemmPrecision::kFp8Blockwise) copies = 2 * (1 + 4.0 / (128 * 128));
  const bool per_tensor = c.precision == GemmPrecision::kFp8Tensorwise || c.precision == GemmPrecision::kFp8Delayed;
  if (per_tensor && cc_major >= 10) copies = 1;
  return c.low_precision_weights ? copies : plain + copies;
}

}  // namespace

absl::string_view Name(MemoryPart part) {
  switch (part) {
    case MemoryPart::kParameters:
      return "parameters";
    case MemoryPart::kGradients:
      return "gradients";
    case MemoryPart::kOptimizerState:
      return "optimizer_state";
    case MemoryPart::kAttention:
      return "attention_activations";
    case MemoryPart::kDenseMlp:
      return "mlp_activations";
    case MemoryPart::kExperts:
      return "expert_activations";
    case MemoryPart::kLoss:
      return "logits_and_loss";
    case MemoryPart::kBackward:
      return "backward_temporaries";
    case MemoryPart::kOptimizerStep:
      return "optimizer_step";
    case MemoryPart::kWeightScratch:
      return "weight_scratch";
    case MemoryPart::kWorkspaces:
      return "workspaces";
    case MemoryPart::kDispatch:
      return "dispatch_buffers";
    case MemoryPart::kGraphs:
      return "cuda_graphs";
    case MemoryPart::kCommunicators:
      return "communicators";
    case MemoryPart::kContext:
      return "cuda_context";
    case MemoryPart::kFragmentation:
      return "fragmentation";
  }
  return "";
}

Certainty CertaintyOf(MemoryPart part) {
  if (part <= MemoryPart::kOptimizerState) return Certainty::kExact;
  const bool modelled = part <= MemoryPart::kWeightScratch || part == MemoryPart::kDispatch;
  return modelled ? Certainty::kModel : Certainty::kMargin;
}

double StageBytes::Static() const {
  return (*this)[MemoryPart::kParameters] + (*this)[MemoryPart::kGradients] + (*this)[MemoryPart::kOptimizerState];
}

double StageBytes::Allocated() const {
  double sum = 0;
  for (MemoryPart part = MemoryPart::kParameters; part <= MemoryPart::kWorkspaces;
       part = static_cast<MemoryPart>(static_cast<int>(part) + 1)) {
    sum += (*this)[part];
  }
  return sum;
}

double StageBytes::Total() const {
  double sum = 0;
  for (double part : parts) sum += part;
  return sum;
}

MemoryModel::MemoryModel(const ModelShape& shape, const Candidate& candidate, const MemoryDevice& device)
    : s_(shape), c_(candidate), device_(device) {
  // Data and context parallel ranks form one group for everything but the routed experts. Several optimizer instances
  // each hold the whole state.
  dense_group_ = std::max(1.0, D(c_.DataParallel() * c_.cp) / c_.optimizer_instances);
  expert_group_ = std::max(1.0, D(c_.ExpertDataParallel()) / c_.optimizer_instances);
  vocab_ = D(s_.PaddedVocab(c_.tp));
  schedule_ = {.pp = c_.pp,
               .vpp = std::min(c_.vpp, kMostVirtualStages),
               .microbatches = c_.Microbatches(),
               .group = c_.microbatch_group > 0 ? c_.microbatch_group : c_.pp,
               .extra_forward = c_.ep_overlap && c_.pp > 1};
  for (int k = 0; k < s_.kind_count; ++k) {
    layers_[static_cast<size_t>(k)] = BytesOfLayer(s_, c_, s_.kinds[static_cast<size_t>(k)]);
  }
  layer_input_ = LayerInputBytes(s_, c_);
  stream_bytes_ = StreamBytes(c_) * D(s_.hidden) * StreamTokens(c_);
  dispatch_bytes_ = DispatchBytes();
  communicators_ = Communicators();
}

MemoryModel::Parameters MemoryModel::ParametersOf(int rank) const {
  Parameters sum;
  const auto add = [&](const PartParameters& part, double times) {
    sum.linear += times * D(part.split) / c_.tp;
    sum.other += times * D(part.replicated);
    const double expert = D(part.expert) / (D(c_.ep) * c_.etp);
    sum.expert += times * expert;
    sum.widest = std::max(sum.widest, D(part.split) / c_.tp + D(part.replicated) + expert);
  };
  bool has_embedding = false, needs_embedding = false;
  for (int j = 0; j < c_.vpp; ++j) {
    const ChunkContents& chunk = c_.stages->chunk(rank, j);
    for (int k = 0; k < s_.kind_count; ++k) {
      const int layers = chunk.layers[static_cast<size_t>(k)];
      if (layers > 0) add(s_.kinds[static_cast<size_t>(k)].parameters, layers);
    }
    if (chunk.mtp_depths > 0) {
      add(s_.mtp_depth, s_.mtp_repeated ? 1 : chunk.mtp_depths);
      needs_embedding = true;  // multi-token prediction embeds its own input
    }
    if (chunk.embedding) {
      has_embedding = true;
      sum.other += D(s_.positions);
    }
    if (chunk.loss) {
      sum.other += D(s_.head.split + s_.head.replicated);
      if (s_.tied) {
        needs_embedding = true;  // the last stage holds its own copy of tied weights
      } else {
        sum.other += vocab_ * D(s_.hidden) / c_.tp;
      }
    }
  }
  if (has_embedding || needs_embedding) sum.other += vocab_ * D(s_.hidden) / c_.tp;
  return sum;
}

void MemoryModel::AddStatic(const Parameters& p, StageBytes* bytes) const {
  const double weight = StreamBytes(c_);
  const double linear = LinearWeightBytes(c_, device_.cc_major);
  const double dense = p.linear + p.other;
  const double whole_dense = D(c_.DataParallel() * c_.cp), whole_expert = D(c_.ExpertDataParallel());
  const double weights_dense = c_.shard_weights ? whole_dense : 1, weights_expert = c_.shard_weights ? whole_expert : 1;
  const double grads_dense = c_.shard_gradients ? whole_dense : 1, grads_expert = c_.shard_gradients ? whole_expert : 1;
  (*bytes)[MemoryPart::kParameters] =
      (p.linear * linear + p.other * weight) / weights_dense + p.expert * linear / weights_expert;
  // FSDP gathers the layer in progress and the next one.
  if (c_.shard_weights) (*bytes)[MemoryPart::kParameters] += 2 * linear * p.widest;
  (*bytes)[MemoryPart::kGradients] = c_.gradient_bytes * (dense / grads_dense + p.expert / grads_expert);
  if (c_.shard_gradients) (*bytes)[MemoryPart::kGradients] += 2 * c_.gradient_bytes * p.widest;
  // Offloading takes the moments; the main parameters go with them only where the optimizer keeps those itself.
  const double on_gpu = 1 - c_.optimizer_offload;
  const double state =
      c_.main_param_bytes * (c_.precision_aware ? on_gpu : 1) + (c_.moment1_bytes + c_.moment2_bytes) * on_gpu;
  (*bytes)[MemoryPart::kOptimizerState] =
      c_.distributed_optimizer ? state * (dense / dense_group_ + p.expert / expert_group_) : state * (dense + p.expert);
}

// What exists during the optimizer's step only, when the activations are gone. The optimizers of dense and of expert
// parameters copy all their gradients first and then step in turn.
double MemoryModel::StepBytes(const Parameters& p) const {
  double dense = p.linear + p.other, expert = p.expert;
  if (c_.distributed_optimizer) {
    dense /= dense_group_;
    expert /= expert_group_;
  }
  const double on_gpu = 1 - c_.optimizer_offload;
  double bytes = c_.gradient_copy ? 4 * (dense + expert) * on_gpu : 0;
  // Transformer Engine's Adam brings moments that are kept in fewer bits to FP32 for all parameters of a group at once
  // (transformer_engine/pytorch/optimizers/fused_adam.py, unscaled_lists).
  const double widened = (c_.moment1_bytes < 4 ? 4 : 0) + (c_.moment2_bytes < 4 ? 4 : 0);
  bytes += widened * std::max(dense, expert) * on_gpu;
  return bytes;
}

// With the weight gradient added to the gradient buffer by the GEMM itself, Transformer Engine hands autograd one dummy
// of each distinct weight shape, which it keeps.
double MemoryModel::WeightScratch(int rank) const {
  if (!c_.grad_accumulation_fusion || !c_.transformer_engine || c_.shard_gradients) return 0;
  KindCounts layers{};
  for (int j = 0; j < c_.vpp; ++j) {
    const ChunkContents& chunk = c_.stages->chunk(rank, j);
    for (size_t k = 0; k < static_cast<size_t>(s_.kind_count); ++k) {
      layers[k] = static_cast<uint16_t>(layers[k] | chunk.layers[k] | (chunk.mtp_depths > 0 ? s_.mtp_layers[k] : 0));
    }
  }
  bool grouped = false, latent = false, linear = false, mamba = false, dense = false, moe = false;
  for (int k = 0; k < s_.kind_count; ++k) {
    if (layers[static_cast<size_t>(k)] == 0) continue;
    const LayerKind& kind = s_.kinds[static_cast<size_t>(k)];
    latent = latent || kind.attention == AttentionKind::kLatent || kind.attention == AttentionKind::kCompressed;
    grouped = grouped || kind.attention == AttentionKind::kGrouped || kind.attention == AttentionKind::kFactorised;
    linear = linear || kind.attention == AttentionKind::kGatedDelta || kind.attention == AttentionKind::kKimiDelta;
    mamba = mamba || kind.attention == AttentionKind::kMamba;
    dense = dense || kind.mlp == MlpKind::kDense;
    moe = moe || kind.mlp == MlpKind::kMoe;
  }
  const double h = D(s_.hidden), fc1 = s_.gated ? 2 : 1;
  double weights = 0;
  if (grouped) weights += h * D((2 * s_.heads + 2 * s_.groups) * s_.head_dim) / c_.tp;
  if (latent) {
    const double query = D(s_.heads * (s_.qk_nope + s_.qk_rope));
    weights += s_.q_rank > 0 ? h * D(s_.q_rank) + D(s_.q_rank) * query / c_.tp : h * query / c_.tp;
    weights += h * D(s_.kv_rank + s_.qk_rope) + D(s_.kv_rank) * D(s_.heads * (s_.qk_nope + s_.v_dim)) / c_.tp;
    weights += D(s_.heads * s_.v_dim) * h / c_.tp;
  }
  if (linear) {
    const double key = D(s_.linear_key_heads * s_.linear_key_dim),
                 value = D(s_.linear_value_heads * s_.linear_value_dim);
    weights += h * (2 * key + 3 * value) / c_.tp;
  }
  if (mamba) weights += 3 * h * D(s_.mamba_heads * s_.mamba_head_dim) / c_.tp;
  if (dense) weights += (fc1 + 1) * h * D(s_.ffn) / c_.tp;
  if (moe) {
    weights += (fc1 + 1) * h * D(s_.shared_ffn) / c_.tp;
    weights += (fc1 + 1) * D(s_.latent > 0 ? s_.latent : s_.hidden) * D(s_.expert_ffn) / c_.etp;
  }
  return StreamBytes(c_) * weights;
}

// Logits, their gradient and what the loss keeps, at the moment when the loss or the output layer runs backward.
double MemoryModel::LossBytes(const ChunkContents& chunk) const {
  const double tokens = ShardTokens(c_);
  const double logits = tokens * vocab_ / c_.tp;
  const double unit = c_.fp32_logits ? 4 : StreamBytes(c_);
  const double hidden = StreamBytes(c_) * D(s_.hidden) * tokens;
  const double heads = 1 + D(chunk.mtp_depths);
  // The output layer's backward: gradient of its input, with sequence parallelism its gathered input, and a weight
  // gradient of its own that autograd takes when the GEMM has already added it.
  const double output = hidden + (c_.sequence_parallel ? hidden : 0) + StreamBytes(c_) * vocab_ * D(s_.hidden) / c_.tp;
  switch (c_.loss) {
    case LossKind::kUnfused:
    case LossKind::kNativeFused:
      // The softmax is kept in FP32; its gradient is written in place and then rounded.
      return std::max(heads * 4 * logits + unit * logits, (heads - 1) * 4 * logits + unit * logits + output);
    case LossKind::kTeFused:
      return heads * unit * logits + output;  // the gradient takes the place of the logits
    case LossKind::kLinearFused:
      return heads * hidden + output;
  }
  return 0;
}

void MemoryModel::AddKept(const ChunkContents& chunk, LayerBytes* kept, double* offloaded) const {
  const bool full = c_.recompute == RecomputeMode::kFullUniform || c_.recompute == RecomputeMode::kFullBlock;
  // Full recompute keeps the input of every group of layers (uniform), or of the first layers of the chunk (block).
  double replayed = 0;
  if (c_.recompute == RecomputeMode::kFullUniform) replayed = 1e9;
  if (c_.recompute == RecomputeMode::kFullBlock) replayed = c_.recompute_layers;
  const double group = c_.recompute == RecomputeMode::kFullUniform ? std::max(1, c_.recompute_layers) : 1;
  const auto add = [&](int kind, double layers) {
    const LayerBytes& one = layers_[static_cast<size_t>(kind)];
    const double gone = full ? std::min(replayed, layers) : 0;
    replayed -= gone;
    const double stay = layers - gone;
    kept->attention += stay * one.attention + gone * layer_input_ / group;
    kept->mlp += stay * one.mlp;
    kept->experts += stay * one.experts;
    *offloaded += stay * one.offloaded * c_.offload_fraction;
  };
  for (int k = 0; k < s_.kind_count; ++k) {
    const auto at = static_cast<size_t>(k);
    if (chunk.layers[at] > 0) add(k, chunk.layers[at]);
    if (chunk.mtp_depths > 0 && s_.mtp_layers[at] > 0) add(k, D(s_.mtp_layers[at]) * chunk.mtp_depths);
  }
  // A depth's two normed inputs, their concatenation and its final norm; the stack's final norm.
  kept->attention += 8 * stream_bytes_ * chunk.mtp_depths;
  if (chunk.loss) kept->attention += 2 * stream_bytes_;
}

MemoryModel::Activity MemoryModel::ActivityOf(int rank) const {
  std::array<double, kMostVirtualStages> bytes;  // of the first schedule_.vpp chunks
  LayerBytes sum;
  double offloaded = 0, backward = 0, loss = 0, embedding = 0, embedding_chunk = 0, layers = 0, before = 0;
  const int chunks = schedule_.vpp;
  const bool full = c_.recompute == RecomputeMode::kFullUniform || c_.recompute == RecomputeMode::kFullBlock;
  for (int j = 0; j < chunks; ++j) {
    const ChunkContents& chunk = c_.stages->chunk(rank, j);
    AddKept(chunk, &sum, &offloaded);
    bytes[static_cast<size_t>(j)] = sum.Kept() - before;
    before = sum.Kept();
    for (int k = 0; k < s_.kind_count; ++k) {
      const auto at = static_cast<size_t>(k);
      if (chunk.layers[at] == 0 && (chunk.mtp_depths == 0 || s_.mtp_layers[at] == 0)) continue;
      const LayerBytes& one = layers_[at];
      // Full recompute brings back whole layers, a group of them at once.
      const double replayed = full ? one.Kept() * (c_.recompute == RecomputeMode::kFullUniform
                                                       ? std::min<double>(c_.recompute_layers, chunk.layers[at])
                                                       : 1)
                                   : 0;
      backward = std::max(backward, one.backward + replayed);
      layers += chunk.layers[at];
    }
    if (chunk.loss) loss = LossBytes(chunk);
    if (chunk.embedding) {
      // The embedding's weight gradient comes whole and in 16 bits before it is added.
      embedding = StreamBytes(c_) * vocab_ * D(s_.hidden) / c_.tp;
      embedding_chunk = bytes[static_cast<size_t>(j)];
    }
  }
  if (c_.ep_overlap) backward *= 1.5;  // the forward layer that runs beside it
  const double kept = MostKept(schedule_, rank, bytes.data());
  const double at_loss = loss > 0 ? MostKept(schedule_, rank, bytes.data(), true) : 0;
  Activity a;
  // The peak: a layer running backward, the loss, or the last backward of a microbatch with the embedding's gradient.
  double most = kept;
  a.backward = backward;
  if (at_loss + loss > kept + backward) {
    most = at_loss;
    a.backward = 0;
    a.loss = loss;
  }
  if (kept - embedding_chunk + embedding > most + a.backward + a.loss) {
    most = kept - embedding_chunk;
    a.backward = embedding;
    a.loss = 0;
  }
  // Offloaded tensors are here for two layers at a time.
  const double all = sum.Kept();
  const double copies = all > 0 ? most / all : 0;
  double gone = offloaded * copies;
  if (layers > 0) gone = std::max(0.0, gone - 2 * offloaded / layers);
  if (c_.offload_layers > 0 && layers > 0) {
    gone = std::max(gone, most * std::max(0.0, std::min(D(c_.offload_layers), layers) - 2) / layers);
  }
  const double scale = all > 0 ? (most - gone) / all : 0;
  a.attention = sum.attention * scale;
  a.mlp = sum.mlp * scale;
  a.experts = sum.experts * scale;
  a.in_flight_layers = layers * copies;
  if (c_.graphs != GraphImpl::kNone) {
    const unsigned modules = c_.graph_modules;
    const bool whole = modules == 0 || c_.graphs == GraphImpl::kFullIteration;
    if (whole || (modules & (kGraphAttn | kGraphMamba)) != 0) a.captured += a.attention;
    if (whole || (modules & (kGraphMlp | kGraphMoe)) != 0) a.captured += a.mlp;
    if (whole || (modules & kGraphMoe) != 0) a.captured += a.experts;
  }
  return a;
}

// Registered by the flex dispatchers outside of PyTorch's allocator.
double MemoryModel::DispatchBytes() const {
  if (!s_.is_moe() || (c_.ep <= 1 && c_.etp <= 1)) return 0;
  const double row = 2.0 * D(s_.latent > 0 ? s_.latent : s_.hidden);
  const double ranks = D(c_.ep) * c_.etp;
  const double domain = std::max(1, device_.nvlink_domain_gpus);
  const double tokens = ShardTokens(c_) / c_.tp;
  switch (c_.dispatcher) {
    case Dispatcher::kAllGather:
    case Dispatcher::kAllToAll:
    case Dispatcher::kNcclEp:
      return 0;
    case Dispatcher::kDeepEp: {
      // Half a channel an SM; chunks of some hundred tokens with scales, indices and weights beside each
      // (deepseek-ai/DeepEP csrc/legacy/config.hpp).
      const double channels = (c_.num_sms > 0 ? c_.num_sms : 20) / 2.0;
      const double slot = row + 128 * 16;
      const double near = channels * std::min(ranks, 8.0) * 256 * slot;
      const double far = ranks > 8 ? 2 * channels * std::ceil(ranks / 8) * 128 * slot : 0;
      return near + far;
    }
    case Dispatcher::kHybridEp:
      // Every rank of the NVLink domain may send all its tokens here.
      return row * tokens * std::min(ranks, domain);
  }
  return 0;
}

int MemoryModel::Communicators() const {
  int groups = 1;  // the world
  for (int64_t size : {int64_t{c_.tp}, int64_t{c_.pp}, int64_t{c_.cp}, int64_t{c_.ep}, c_.DataParallel(),
                       s_.is_moe() ? c_.ExpertDataParallel() : int64_t{1}}) {
    if (size > 1) ++groups;
  }
  return groups;
}

StageBytes MemoryModel::Stage(int rank) const {
  namespace m = memory;
  StageBytes bytes;
  const Parameters parameters = ParametersOf(rank);
  AddStatic(parameters, &bytes);
  const Activity activity = ActivityOf(rank);
  bytes[MemoryPart::kAttention] = activity.attention;
  bytes[MemoryPart::kDenseMlp] = activity.mlp;
  bytes[MemoryPart::kExperts] = activity.experts;
  bytes[MemoryPart::kLoss] = activity.loss;
  bytes[MemoryPart::kBackward] = activity.backward;
  bytes[MemoryPart::kWeightScratch] = WeightScratch(rank);
  bytes[MemoryPart::kWorkspaces] = m::kWorkspaceBytes.value;
  const double training = activity.attention + activity.mlp + activity.experts + activity.loss + activity.backward;
  bytes[MemoryPart::kOptimizerStep] = std::max(0.0, StepBytes(parameters) + activity.captured - training);
  bytes[MemoryPart::kDispatch] = dispatch_bytes_;
  if (c_.graphs != GraphImpl::kNone) {
    // A static output for each capture: one for each layer and microbatch in flight.
    const double captures = c_.graphs == GraphImpl::kFullIteration ? 0 : activity.in_flight_layers;
    bytes[MemoryPart::kGraphs] = m::kGraphFixedBytes.value + captures * layer_input_;
  }
  bytes[MemoryPart::kCommunicators] = m::kCommunicatorBytes.value * communicators_;
  bytes[MemoryPart::kContext] = m::kContextBytes.value;
  const Coefficient& slack = c_.expandable_segments ? m::kFragmentationExpandable : m::kFragmentation;
  bytes[MemoryPart::kFragmentation] = slack.value * bytes.Allocated();
  return bytes;
}

StageBytes MemoryModel::Fullest(int* rank) const {
  StageBytes fullest;
  double most = -1;
  for (int at : c_.stages->distinct_ranks) {
    const StageBytes bytes = Stage(at);
    const double total = bytes.Total();
    if (total <= most) continue;
    most = total;
    fullest = bytes;
    *rank = at;
  }
  return fullest;
}

double MemoryModel::StaticBytes() const {
  double most = 0;
  for (int rank : c_.stages->distinct_ranks) {
    StageBytes bytes;
    AddStatic(ParametersOf(rank), &bytes);
    most = std::max(most, bytes.Static());
  }
  return most;
}

}  // namespace flightplan
