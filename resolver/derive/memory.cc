#include "resolver/derive/memory.h"

#include <algorithm>
#include <cmath>

#include "resolver/base/real.h"
#include "resolver/catalog/memory_coefficients.h"

namespace flightplan {
namespace {

// Of uniform recompute: as many layers as there are.
constexpr double kAllLayers = 1e9;
// With EP overlap the forward pass of another microbatch's layer runs beside a backward pass; its temporaries are taken
// for half of the backward's (chosen).
constexpr double kBackwardUnderOverlap = 1.5;
// Offloaded tensors are here for two layers at a time: the one in progress and the one that is being copied.
constexpr double kLayersOnTheirWay = 2;
// Hidden states that are kept: by a depth of multi-token prediction its two normed inputs, their concatenation and its
// final norm; by the stack its final norm.
constexpr double kStreamsOfMtp = 8, kStreamsOfFinalNorm = 2;
// DeepEP's buffers: two SMs a channel; for each peer a queue of tokens, with scales, indices and weights beside each
// (deepseek-ai/DeepEP csrc/legacy/config.hpp).
constexpr double kDeepEpSms = 20, kDeepEpSmsPerChannel = 2;
constexpr double kDeepEpBytesBesideAToken = 128 * 16;
constexpr double kDeepEpPeers = 8;  // of a node
constexpr double kDeepEpNvlinkTokens = 256, kDeepEpNetworkTokens = 128, kDeepEpNetworkBuffers = 2;

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
    const LayerKind& kind = s_.kinds[static_cast<size_t>(k)];
    layers_[static_cast<size_t>(k)] = BytesOfLayer(s_, c_, kind);
    if (!c_.adapters.any()) continue;
    adapters_[static_cast<size_t>(k)] =
        AdapterParametersOf(AdapterSitesOf(s_, kind), c_.adapters, c_.tp, c_.ep, c_.etp);
  }
  layer_input_ = LayerInputBytes(s_, c_);
  stream_bytes_ = ResidualBytes(c_) * D(s_.hidden) * StreamTokens(c_);
  AddScratch();
  dispatch_bytes_ = DispatchBytes();
  communicators_ = Communicators();
}

// Logits, their gradient and what the loss keeps, at the moment when the loss or the output layer runs backward.
double MemoryModel::LossBytes() const {
  const double tokens = ShardTokens(c_);
  const double logits = tokens * vocab_ / c_.tp;
  const double unit = c_.fp32_logits ? kFp32Bytes : StreamBytes(c_);
  const double hidden = StreamBytes(c_) * D(s_.hidden) * tokens;
  const double heads = 1 + D(s_.mtp_depths);  // wherever the layers of multi-token prediction stand
  // The output layer's backward: gradient of its input, with sequence parallelism its gathered input, and a weight
  // gradient of its own, unless that is scratch. Frozen, it has neither of the last two.
  const double weight = head_scratch_ > 0 ? 0 : vocab_ * D(s_.hidden) / c_.tp;
  const double output =
      c_.adapters.any() ? hidden : hidden + (c_.sequence_parallel ? hidden : 0) + StreamBytes(c_) * weight;
  switch (c_.loss) {
    case LossKind::kUnfused:
    case LossKind::kTeFusedInFp32:
    case LossKind::kNativeFused: {
      // The softmax, or the gradient itself, is kept in FP32, written in place and then rounded, unless values are
      // FP32. Megatron's own fusion is compiled, and what it writes in place becomes a copy (Megatron-LM
      // core/fusions/fused_cross_entropy.py:54).
      const double copies = c_.loss == LossKind::kNativeFused ? heads + 1 : heads;
      return std::max(copies * kFp32Bytes * logits + (StreamBytes(c_) < kFp32Bytes ? unit : 0) * logits,
                      (heads - 1) * kFp32Bytes * logits + unit * logits + output);
    }
    case LossKind::kTeFused:
      return heads * unit * logits + output;  // the gradient takes the place of the logits
    case LossKind::kLinearFused:
      return heads * hidden + output;
  }
  return 0;
}

// What the output layer's weight gradients wait with: gradients of logits and the inputs that they belong to, of all
// microbatches but the one whose loss is formed (Megatron-LM core/tensor_parallel/layers.py:661, 1227).
double MemoryModel::DeferredBytes() const {
  const double waiting = std::min<double>(c_.deferred_outputs, D(c_.Microbatches()) - 1);
  const double unit = c_.fp32_logits ? kFp32Bytes : StreamBytes(c_);
  return waiting * (unit * ShardTokens(c_) * vocab_ / c_.tp + StreamBytes(c_) * D(s_.hidden) * StreamTokens(c_));
}

void MemoryModel::AddKept(const ChunkContents& chunk, LayerBytes* kept, double* offloaded) const {
  const bool full = c_.recompute == RecomputeMode::kFullUniform || c_.recompute == RecomputeMode::kFullBlock;
  // Full recompute keeps the input of every group of layers (uniform), or of the first layers of the chunk (block).
  double replayed = 0;
  if (c_.recompute == RecomputeMode::kFullUniform) replayed = kAllLayers;
  if (c_.recompute == RecomputeMode::kFullBlock) replayed = c_.recompute_layers;
  // The last group of a chunk may be a smaller one.
  const double group = c_.recompute == RecomputeMode::kFullUniform ? std::max(1, c_.recompute_layers) : 1;
  const double own = chunk.Layers();
  const double inputs = own > 0 ? std::ceil(own / group) / own : 1;  // of a layer that is computed again
  const auto add = [&](int kind, double layers, double kept_inputs) {
    const LayerBytes& one = layers_[static_cast<size_t>(kind)];
    const double gone = full ? std::min(replayed, layers) : 0;
    replayed -= gone;
    const double stay = layers - gone;
    kept->attention += stay * one.attention + gone * layer_input_ * kept_inputs;
    kept->mlp += stay * one.mlp;
    kept->experts += stay * one.experts;
    *offloaded += stay * one.offloaded * c_.offload_fraction;
  };
  for (int k = 0; k < s_.kind_count; ++k) {
    const auto at = static_cast<size_t>(k);
    if (chunk.layers[at] > 0) add(k, chunk.layers[at], inputs);
    if (chunk.mtp_depths > 0 && s_.mtp_layers[at] > 0) add(k, D(s_.mtp_layers[at]) * chunk.mtp_depths, 1);
  }
  kept->attention += kStreamsOfMtp * stream_bytes_ * chunk.mtp_depths;
  if (chunk.loss) kept->attention += kStreamsOfFinalNorm * stream_bytes_;
}

MemoryModel::Activity MemoryModel::ActivityOf(int rank) const {
  // Of schedule_.vpp chunks, of which each stands for several where there are more than the schedule has.
  std::array<double, kMostVirtualStages> bytes;
  LayerBytes sum;
  double offloaded = 0, backward = 0, loss = 0, embedding = 0, embedding_chunk = 0, layers = 0, before = 0;
  const int chunks = schedule_.vpp;
  std::fill_n(bytes.begin(), chunks, 0.0);
  const bool full = c_.recompute == RecomputeMode::kFullUniform || c_.recompute == RecomputeMode::kFullBlock;
  for (int j = 0; j < c_.vpp; ++j) {
    const ChunkContents& chunk = c_.stages->chunk(rank, j);
    AddKept(chunk, &sum, &offloaded);
    const double own = sum.Kept() - before;
    bytes[static_cast<size_t>(int64_t{j} * chunks / c_.vpp)] += own;
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
    if (chunk.loss) loss = LossBytes();
    if (chunk.embedding) {
      // The embedding's weight gradient comes whole and in 16 bits before it is added.
      embedding = c_.adapters.any() ? 0 : StreamBytes(c_) * vocab_ * D(s_.hidden) / c_.tp;
      embedding_chunk = own;
    }
  }
  if (c_.ep_overlap) backward *= kBackwardUnderOverlap;
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
  if (loss > 0) a.loss += DeferredBytes();
  const double all = sum.Kept();
  const double copies = all > 0 ? most / all : 0;
  double gone = offloaded * copies;
  if (layers > 0) gone = std::max(0.0, gone - kLayersOnTheirWay * offloaded / layers);
  if (c_.offload_layers > 0 && layers > 0) {
    gone = std::max(gone, most * std::max(0.0, std::min(D(c_.offload_layers), layers) - kLayersOnTheirWay) / layers);
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
  const double row = kBf16Bytes * D(s_.latent > 0 ? s_.latent : s_.hidden);
  const double ranks = D(c_.ep) * c_.etp;
  const double domain = std::max(1, device_.nvlink_domain_gpus);
  const double tokens = ShardTokens(c_) / c_.tp;
  switch (c_.dispatcher) {
    case Dispatcher::kAllGather:
    case Dispatcher::kAllToAll:
    case Dispatcher::kNcclEp:
      return 0;
    case Dispatcher::kDeepEp: {
      const double channels = (c_.num_sms > 0 ? c_.num_sms : kDeepEpSms) / kDeepEpSmsPerChannel;
      const double slot = row + kDeepEpBytesBesideAToken;
      const double near = channels * std::min(ranks, kDeepEpPeers) * kDeepEpNvlinkTokens * slot;
      const double nodes = std::ceil(ranks / kDeepEpPeers);
      const double far =
          ranks > kDeepEpPeers ? kDeepEpNetworkBuffers * channels * nodes * kDeepEpNetworkTokens * slot : 0;
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
