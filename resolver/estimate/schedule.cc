#include "resolver/estimate/schedule.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "absl/container/inlined_vector.h"
#include "resolver/derive/layer_bytes.h"
#include "resolver/derive/steady_passes.h"

namespace flightplan {
namespace {

// Chosen, none of them measured alone. The measured coefficients are rows of step_rates.yaml.
constexpr double kOffloadedBytes = 34;  // a token's hidden state a layer: what leaves and comes back
// Of those copies, what they cost the compute beside them. Of one published pair: DeepSeek-V3 (TP1 PP8 EP32 VPP4,
// MXFP8) 169 -> 151 GB and 945 -> 930 TFLOP/s (arXiv:2603.07685, table 5), which is what offloading expert_fc1 frees.
constexpr double kOffloadSlows = 0.14;

// Jitter between ranks and gaps between kernels stretch what the GPUs do.
void Stretch(double by, StepParts* parts) {
  for (double* part :
       {&parts->matmul, &parts->attention, &parts->memory_bound, &parts->recompute, &parts->expert_exchange,
        &parts->tensor_parallel, &parts->context_parallel, &parts->host, &parts->bubble}) {
    *part *= by;
  }
}

// Without the host.
double ForwardUs(const LayerTime& s) { return s.fwd.gpu() + s.fwd.transfer + s.fwd_exchange; }
double BackwardUs(const LayerTime& s) {
  return s.bwd.gpu() + s.bwd.transfer + s.bwd_exchange + s.again.gpu() + s.again.transfer + s.again_exchange;
}

}  // namespace

Pace Schedule::PaceOf(const RankContents& rank) const {
  double fwd = 0, bwd = 0, pair = 0, host_fwd = 0, host_bwd = 0;
  const auto add = [&](const LayerTime& layer, double count) {
    fwd += count * ForwardUs(layer);
    bwd += count * BackwardUs(layer);
    pair += count * layer.pair;
    host_fwd += count * layer.host_fwd;
    host_bwd += count * layer.host_bwd;
  };
  for (size_t i = 0; i < static_cast<size_t>(work_.kind_count); ++i) {
    if (const double count = LayersOf(rank, i); count > 0) add(layers_.kinds[i], count);
  }
  const double depths = rank.mtp_depths;
  if (depths > 0) {
    fwd += depths * layers_.join.fwd;
    bwd += depths * (layers_.join.bwd + layers_.join.wgrad);
    pair += depths * layers_.join.all();
  }
  if (const double heads = HeadsOf(work_, rank); heads > 0) add(layers_.head, heads);
  const RankPace pace = PaceFrom(fwd, bwd, pair, host_fwd, host_bwd);
  const double passes = pace.alone_fwd + pace.alone_bwd;
  const double unpaired = plan_.ep_overlap && microbatches_ > 0 ? WarmUp() / microbatches_ : 1;
  return {(1 - unpaired) * pace.paired + unpaired * pace.alone, passes > 0 ? pace.alone_fwd / passes : 0};
}

LayerTime Schedule::TimeOf(const RankContents& rank) const {
  LayerTime sum;
  for (size_t i = 0; i < static_cast<size_t>(work_.kind_count); ++i) {
    if (const double count = LayersOf(rank, i); count > 0) Accumulate(layers_.kinds[i], count, &sum);
  }
  const double depths = rank.mtp_depths;
  // The projection of two hidden states to one; each depth's own pass through the output layer is a head's.
  if (depths > 0) Accumulate(TimeJoin(layers_.join), depths, &sum);
  if (const double heads = HeadsOf(work_, rank); heads > 0) Accumulate(layers_.head, heads, &sum);
  return sum;
}

// Of the stages' ranks, and the mean of all.
const RankContents& Schedule::FindSlowest() {
  double sum_us = 0;
  const RankContents* slowest = nullptr;
  for (const RankContents& rank : plan_.stages->contents) {
    const double us = PaceOf(rank).us;
    sum_us += us * rank.ranks_alike;
    if (slowest == nullptr || !(us <= slowest_us_)) slowest_us_ = us, slowest = &rank;
  }
  mean_us_ = sum_us / plan_.stages->pp;
  return *slowest;
}

double Schedule::WarmUp() const {
  const double v = VirtualStages(), group = plan_.microbatch_group > 0 ? plan_.microbatch_group : plan_.pp;
  return std::min(microbatches_, ((v - 1) * group + 1) / v);
}

RankPace Schedule::PaceFrom(double fwd, double bwd, double pair, double host_fwd, double host_bwd) const {
  RankPace pace;
  pace.fwd_gpu = fwd;
  pace.bwd_gpu = bwd;
  pace.alone_fwd = SoftMax(fwd, host_fwd);
  pace.alone_bwd = SoftMax(bwd, host_bwd);
  // The host waits in the dispatch for the number of rows that arrive, unless surplus tokens are dropped.
  pace.gap = WholeIteration() || plan_.drop_pad ? 0 : k_.host_gap * (host_fwd + host_bwd);
  pace.alone = pace.alone_fwd + pace.alone_bwd + pace.gap;
  pace.paired = plan_.ep_overlap ? SoftMax(pair, host_fwd + host_bwd) + pace.gap : pace.alone;
  return pace;
}

RankPace Schedule::MicrobatchPace(const LayerTime& s) const {
  return PaceFrom(ForwardUs(s), BackwardUs(s), s.pair, s.host_fwd, s.host_bwd);
}

// How much longer a microbatch takes where ranks wait for each other because their chunks are uneven, as a share: each
// slot of the steady state is as long as its longest passes. Ranks of a combined schedule hand on once a pair, so that
// they march in step; else forwards run ahead of backwards, which hides the waits of up to four ranks.
double Schedule::SteadyWait() const {
  constexpr double kRanksApart = 4;
  const double share = plan_.ep_overlap ? 1 : std::max(0.0, 1 - kRanksApart / plan_.pp);
  if (plan_.stages->vpp <= 1 || share <= 0 || !(slowest_us_ > 0)) return 0;
  SteadyPasses own;
  if (plan_.stages->steady == nullptr) own = SteadyPassesOf(*plan_.stages);
  const SteadyPasses& steady = plan_.stages->steady != nullptr ? *plan_.stages->steady : own;
  if (steady.slots.empty()) return 0;
  absl::InlinedVector<double, 16> forward_us, backward_us;
  for (const RankContents& chunk : steady.chunks) {
    const Pace pace = PaceOf(chunk);
    forward_us.push_back(pace.forward * pace.us);
    backward_us.push_back((1 - pace.forward) * pace.us);
  }
  double slots = 0;
  size_t i = 0;
  for (const SteadyPasses::Slot& slot : steady.slots) {
    double longest = 0;
    for (; i < slot.end; ++i) {
      const PassPair& pair = steady.pairs[i];
      longest = std::max(longest, forward_us[pair.forward] + backward_us[pair.backward]);
    }
    slots += slot.share * longest;
  }
  return share * std::max(0.0, plan_.vpp * slots / slowest_us_ - 1);
}

// Under EP overlap the warm-up's forwards and the cool-down's backwards have nothing beside them: as many as the last
// rank has, one of them so that its first backward has a forward to run with (derive/schedule.h). What other ranks have
// more of falls into the time in which the pipeline fills and drains, at the pace of those that the slowest waits for.
void Schedule::TimeMicrobatch() {
  pace_ = MicrobatchPace(s_);
  const double v = VirtualStages(), warm_up = WarmUp();
  if (plan_.ep_overlap) unpaired_ = warm_up;
  if (plan_.pp <= 1) return;
  const double others = slowest_us_ > 0 ? std::max(0.0, plan_.pp * mean_us_ / slowest_us_ - 1) : 0;
  bubble_us_ = others * pace_.alone / v;
  may_wait_ = microbatches_ - warm_up;
}

void Schedule::AddWait() {
  if (may_wait_ <= 0) return;
  steady_wait_ = SteadyWait() * may_wait_;
  bubble_us_ += steady_wait_ * pace_.paired;
}

// All microbatches on the slowest stage, by what they wait for.
void Schedule::AddSteady(StepForecast* out) const {
  StepParts& parts = out->parts;
  parts.matmul = microbatches_ * (s_.fwd.matmul + s_.bwd.matmul);
  parts.attention = microbatches_ * (s_.fwd.attention + s_.bwd.attention);
  parts.memory_bound = microbatches_ * (s_.fwd.memory + s_.bwd.memory);
  parts.recompute = microbatches_ * s_.again.gpu();
  parts.tensor_parallel = microbatches_ * (s_.fwd.transfer + s_.bwd.transfer + s_.again.transfer);
  if (plan_.ep_overlap) {
    out->hidden_exchange_us = (microbatches_ - unpaired_) * s_.pair_hidden;
    parts.expert_exchange =
        (microbatches_ - unpaired_) * s_.pair_exposed + unpaired_ * (s_.fwd_exchange + s_.bwd_exchange);
    // What running beside the exchange costs the compute stays with the exchange.
    const double rest = (microbatches_ - unpaired_) * s_.pair + unpaired_ * (pace_.fwd_gpu + pace_.bwd_gpu) -
                        parts.compute() - parts.communication();
    parts.expert_exchange = std::max(0.0, parts.expert_exchange + rest);
  } else {
    parts.expert_exchange = microbatches_ * (s_.fwd_exchange + s_.bwd_exchange + s_.again_exchange);
  }
  parts.host = std::max(0.0, SteadyUs() - parts.compute() - parts.communication());
}

// Context parallelism is a part of the transfers that were counted as tensor parallelism; and what runs beside compute.
void Schedule::AddHidden(StepForecast* out) const {
  const double context = microbatches_ * (s_.fwd.context + s_.bwd.context + s_.again.context);
  out->parts.context_parallel += context;
  out->parts.tensor_parallel -= context;
  out->hidden.expert_exchange += out->hidden_exchange_us + microbatches_ * s_.shared_hidden;
  out->hidden.tensor_parallel += microbatches_ * (s_.fwd.hidden_tensor + s_.bwd.hidden_tensor + s_.again.hidden_tensor);
  out->hidden.context_parallel +=
      microbatches_ * (s_.fwd.hidden_context + s_.bwd.hidden_context + s_.again.hidden_context);
}

PipelineTransfer Schedule::TransferOf(double microbatches) const {
  const double handed_on = batch_.local * h_ * work_.kinds[0].streams *
                           (plan_.fp32_residual ? kFp32Bytes : kBf16Bytes);  // every residual stream
  return PipelineTransferOf(rates_, static_cast<double>(plan_.gpus), handed_on, microbatches, plan_.pp,
                            std::max(1, plan_.vpp));
}

// Between stages, which the pipeline's bubble belongs to.
void Schedule::AddTransfers(StepForecast* out) const {
  out->parts.bubble = bubble_us_;
  const PipelineTransfer transfer = TransferOf(microbatches_);
  out->parts.pipeline_transfer = transfer.exposed;
  out->hidden.pipeline_transfer = transfer.hidden;
}

// Of a microbatch, that modules hand to the host in the forward and take back in the backward.
double Schedule::OffloadedBytes(const RankContents& rank) const {
  if (plan_.offload_modules == 0 || work_.shape == nullptr || plan_.recompute == RecomputeMode::kFullUniform) return 0;
  double bytes = 0, layers = 0;
  for (size_t i = 0; i < static_cast<size_t>(work_.kind_count); ++i) {
    const double count = LayersOf(rank, i);
    if (count <= 0) continue;
    layers += count;
    bytes += count * BytesOfLayer(*work_.shape, plan_, work_.shape->kinds[i]).offloaded;
  }
  // The layers that full recompute replays keep their input alone.
  const double replayed = plan_.recompute == RecomputeMode::kFullBlock
                              ? static_cast<double>(plan_.recompute_layers) * std::max(1, plan_.vpp)
                              : 0;
  return layers > replayed ? bytes * (1 - replayed / layers) * plan_.offload_fraction : 0;
}

// Activations of whole layers, or of modules, leave in the forward pass and come back in the backward: each way beside
// its own pass, and what the link does not get done there is waited for.
double Schedule::OffloadUs(const RankContents& rank, const RankPace& pace) const {
  double layers = 0;
  for (size_t i = 0; i < static_cast<size_t>(work_.kind_count); ++i) layers += rank.layers[i];
  layers = std::min<double>(layers, plan_.offload_layers);
  const double bytes = OffloadedBytes(rank) + layers * batch_.tokens / t_ * h_ * kOffloadedBytes;
  const double copy = bytes * rates_.host_link_us;
  if (copy <= 0) return 0;
  double us = 0;
  for (const double pass : {pace.alone_fwd, pace.alone_bwd}) {
    us += std::max(0.0, copy - kBesideCompute * pass) + kOffloadSlows * std::min(copy, pass);
  }
  return us * microbatches_;
}

// The passes that the slowest rank waits for have their copies, too.
double Schedule::OffloadWait(double own_us) const {
  if (own_us <= 0 || plan_.pp <= 1) return 0;
  double us = -own_us;
  for (const RankContents& rank : plan_.stages->contents) {
    us += rank.ranks_alike * OffloadUs(rank, MicrobatchPace(TimeOf(rank)));
  }
  return (std::max(0.0, us) / std::max(1, plan_.vpp) + steady_wait_ * own_us) / microbatches_;
}

// What the attention's own time may be off by.
double Schedule::AttentionError() const {
  // Compressed and sparse attention: no kernel of theirs is published in the backward pass, which gathers and scatters
  // keys and may take twice as long as a dense one. DeepSeek's kernels may take longer still: what Megatron-Bridge's
  // verification cards of GLM-5.2 print, deterministic and untuned, is 1.4 to 3.4 times the forecast.
  const double sparse = plan_.sparse_kernels ? 2 : 1;
  double error = rates_.error.attention;
  for (size_t i = 0; i < static_cast<size_t>(work_.kind_count); ++i) {
    const AttentionWork& attention = work_.kinds[i].attention;
    if (attention.scan_state > 0) error = std::max(error, rates_.error.scan);
    if (attention.unmeasured || (attention.delta_heads > 0 && plan_.deterministic)) error = std::max(error, sparse);
  }
  return error;
}

// Every rate's error, as a sum: they need not cancel. How far the sum stands from what unseen model families show is
// measured (interval_scale).
void Schedule::AddInterval(StepForecast* out) const {
  constexpr double kModelError = 0.03;
  // Exchanges and the host are off by more than their rates: no two clusters have them alike. Chosen so that an
  // interval of nine in ten is as narrow as the held-out families allow.
  constexpr double kOfExchange = 1.5, kOfHost = 1.5;
  constexpr double kHostError = 0.1;  // on top of the host's rate: from machine to machine
  constexpr double kStreams = 0.7;    // of memory with hyper-connections, of which one forward kernel is published
  constexpr double kSkew = 0.25;      // natural routing's is the router's
  constexpr double kInOrder = 0.3;    // kernels that sum in one order, of whatever GPU (chosen)
  constexpr double kHalf = 0.5;       // of what such errors reach: hidden exchanges, compute beside skewed experts
  const StepParts& parts = out->parts;
  const RateErrors& e = rates_.error;
  const bool natural = plan_.imbalance > 1 && plan_.ep > 1 && !plan_.drop_pad;
  const double skew = natural ? kSkew * (parts.expert_exchange + kHalf * parts.compute()) : 0;
  // Sockets copy through the host: a fraction of the link, or all of a slow one.
  constexpr double kUnknownNetwork = 1;
  const bool far = static_cast<double>(plan_.ep) * plan_.etp > rates_.domain_gpus;
  const double collective = rates_.network_measured ? e.collective : kUnknownNetwork,
               exchange = rates_.network_measured || !far ? e.exchange : kUnknownNetwork;
  const double memory = work_.shape != nullptr && work_.shape->residual_streams > 1 ? kStreams : e.memory;
  const double error = e.gemm[batch_.precision] * (parts.matmul + parts.recompute + parts.bubble) +
                       AttentionError() * parts.attention + memory * parts.memory_bound +
                       kOfExchange * exchange * (parts.expert_exchange + kHalf * out->hidden_exchange_us) +
                       e.collective * parts.tensor_parallel +
                       collective * (parts.communication() - parts.expert_exchange - parts.tensor_parallel) +
                       kOfHost * (e.host + kHostError) * parts.host + e.optimizer * parts.optimizer + skew +
                       (kModelError + (plan_.deterministic ? kInOrder : 0)) * out->us;
  const double half = out->us > 0 ? k_.interval_scale * error / out->us : 0;
  out->low_us = out->us * std::exp(-half);
  out->high_us = out->us * std::exp(half);
}

// What the slowest rank waits for the one with the most to do once a step, such as that of the embedding: the norm of
// the gradients is known to all ranks at once, and the next step's microbatches pass all of them. Microbatches come to
// that rank as they leave the slowest, so that its transfers have as long beside them.
double Schedule::OnceWait(const RankContents& slowest, const OnceAStep& own) const {
  double most_us = own.us();
  for (const RankContents& rank : plan_.stages->contents) {
    if (&rank != &slowest) most_us = std::max(most_us, OnceOf(rank, pace_).us());
  }
  return most_us - own.us();
}

void Schedule::AddParts(const RankContents& slowest, StepForecast* out) const {
  AddSteady(out);
  AddHidden(out);
  AddTransfers(out);
  const OnceAStep once = OnceOf(slowest, pace_);
  out->parts.data_parallel += once.data_parallel.exposed;
  out->hidden.data_parallel += once.data_parallel.hidden;
  out->parts.optimizer = once.optimizer;
  const double offload = OffloadUs(slowest, pace_);
  out->parts.memory_bound += offload;
  out->parts.bubble += OffloadWait(offload);
  Stretch(k_.stack_overhead, &out->parts);
  out->parts.bubble += OnceWait(slowest, once);
  out->us = out->parts.total();
}

bool Schedule::Run(StepForecast* out) {
  *out = StepForecast();
  if (!Known()) return false;
  const RankContents& slowest = FindSlowest();
  s_ = TimeOf(slowest);
  TimeMicrobatch();
  AddWait();
  AddParts(slowest, out);
  out->model_flops = FlopsPerToken(work_, static_cast<double>(plan_.seq_length), plan_.indexer_loss) *
                     static_cast<double>(plan_.global_batch_size) * static_cast<double>(plan_.seq_length);
  AddInterval(out);
  return out->is_finite();
}

double Schedule::UsBelow(double limit_us, StepForecast* out) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  constexpr double kRounding = 1 + 1e-9;  // sums in another order
  if (!Known()) return kNever;
  const RankContents& slowest = FindSlowest();
  s_ = TimeOf(slowest);
  TimeMicrobatch();
  // What a microbatch waits for, and the bubble, without what comes once a step: first as if all chunks were even.
  const auto never = [&] {
    return (SteadyUs() + bubble_us_) * k_.stack_overhead + k_.step_fixed_us >= limit_us * kRounding;
  };
  if (never()) return kNever;
  AddWait();
  if (never()) return kNever;
  *out = StepForecast();
  AddParts(slowest, out);
  if (out->us < limit_us) return out->us;
  return kNever;
}

}  // namespace flightplan
