// What a step does once, whatever its microbatches: gradients and weights between the ranks that hold the same
// parameters, and the optimizer.
#include <algorithm>
#include <array>
#include <cstddef>

#include "resolver/derive/layer_bytes.h"
#include "resolver/estimate/schedule.h"

namespace flightplan {
namespace {

// Chosen, none of them measured alone.
constexpr double kOptimizerBytes = 34;      // that the optimizer moves for a parameter
constexpr double kCopiedBytes = 8;          // of a parameter on the host: gradient there, weight back
constexpr double kHostOptimizerBytes = 28;  // that the host's optimizer moves for it
constexpr double kHostBehind = 0.3;         // of the shorter of copies and arithmetic, what the longer does not hide

// Of a weight of a linear layer, as it is gathered. MXFP8 weights are quantized by rows and by columns only behind the
// gather, which is of a 16-bit view of the gradient buffer; two values of NVFP4 share a byte (Megatron-LM
// core/distributed/param_and_grad_buffer.py:1161, :1440). Megatron-FSDP gathers a byte of any FP8.
double GatheredBytes(const Candidate& plan) {
  constexpr double kFp8Bytes = 1, kPackedBytes = 0.5;
  if (!plan.low_precision_weights) return StreamBytes(plan);
  if (plan.precision == GemmPrecision::kNvfp4) return kPackedBytes;
  return plan.precision == GemmPrecision::kMxfp8 && !plan.shard_weights ? kBf16Bytes : kFp8Bytes;
}

}  // namespace

// One reduce-scatter or all-gather of a group of `ranks`, whose neighbours are `stride` GPUs apart.
double Schedule::DataParallelUs(double bytes, double ranks, double stride) const {
  if (ranks <= 1) return 0;
  const double moved = bytes * (ranks - 1) / ranks;
  if (ranks * stride <= rates_.domain_gpus) return moved * rates_.collective_nvlink_us;
  // Each rank of a node drives its own network card.
  const double lanes = std::max(1.0, rates_.domain_gpus / stride);
  return moved * std::max(rates_.collective_nvlink_us, rates_.collective_network_us / std::min(lanes, ranks));
}

// With context parallelism.
Schedule::Replicas Schedule::DenseReplicas() const {
  return ReplicasOf(static_cast<double>(plan_.gpus) / plan_.tp / plan_.pp, t_);
}

Schedule::Replicas Schedule::ExpertReplicas() const {
  return ReplicasOf(static_cast<double>(plan_.gpus) / plan_.ep / plan_.etp / plan_.pp,
                    static_cast<double>(plan_.ep) * plan_.etp);
}

// Every instance of the distributed optimizer keeps the whole state; without it every rank does.
Schedule::Replicas Schedule::ReplicasOf(double ranks, double stride) const {
  const double inner = plan_.distributed_optimizer ? std::max(1.0, ranks / std::max(1, plan_.optimizer_instances)) : 1;
  const double outer = std::max(1.0, ranks / inner);
  return {inner, outer, stride, plan_.outer_shards_state ? inner * outer : inner};
}

// Between the groups: an all-reduce of the gradients' shards, or where they share the state its two halves, of which
// the second brings weights.
double Schedule::OuterUs(double gradients, double weights, const Replicas& replicas) const {
  const auto& [inner, outer, stride, owners] = replicas;
  const double second = owners > inner ? weights : gradients;
  return DataParallelUs((gradients + second) / inner, outer, stride * inner);
}

DataParallelTimes Schedule::DataParallel(const RankParameters& parameters, const RankPace& pace) const {
  DataParallelTimes times;
  const Replicas dense = DenseReplicas(), expert = ExpertReplicas();
  const double of_gradient = plan_.gradient_bytes, of_weight = GatheredBytes(plan_);
  const double dense_gradients = parameters.dense() * of_gradient, expert_gradients = parameters.expert * of_gradient;
  // Embeddings, norms and routers stay in 16 bits.
  const double dense_weights = parameters.linear * of_weight + parameters.other * StreamBytes(plan_);
  const double expert_weights = parameters.expert * of_weight;
  const auto inner = [&](double dense_bytes, double expert_bytes) {
    return DataParallelUs(dense_bytes, dense.inner, dense.stride) +
           DataParallelUs(expert_bytes, expert.inner, expert.stride);
  };
  const double scatter = inner(dense_gradients, expert_gradients), gather = inner(dense_weights, expert_weights);
  const double outer =
      OuterUs(dense_gradients, dense_weights, dense) + OuterUs(expert_gradients, expert_weights, expert);
  if (plan_.shard_weights || plan_.shard_gradients) {
    // Gradients are reduced after every backward (Megatron-LM@d98e8a64dd megatron_fsdp.py:760) and weights, where they
    // are sharded too, gathered ahead of every forward and backward, beside the compute, which they slow down.
    const double gathers = plan_.shard_weights ? microbatches_ * 2 * gather : 0;
    const double traffic = gathers + microbatches_ * scatter + outer,
                 window = microbatches_ * (pace.alone_bwd + (plan_.shard_weights ? pace.alone_fwd : 0));
    const double left = std::max(0.0, traffic - window);
    const double exposed = left + (k_.sharded_slowdown - 1) * std::min(window, traffic), hidden = traffic - left;
    const double gathered = traffic > 0 ? gathers / traffic : 0;
    times.reduces_every_pass = true;
    times.gathers_every_pass = plan_.shard_weights;
    times.gather_exposed = gathered * exposed;
    times.reduce_exposed = exposed - times.gather_exposed;
    times.gather_hidden = gathered * hidden;
    times.reduce_hidden = hidden - times.gather_hidden;
  }
  const auto exposed_of = [&](double us, double window, bool overlapped) {
    const double beside = std::min(us, kBesideCompute * window);
    return overlapped ? std::max(0.0, us - kBesideCompute * window) + k_.data_parallel_exposed * beside : us;
  };
  if (!times.reduces_every_pass) {
    const double reduce = scatter + outer;
    times.reduce_exposed = exposed_of(reduce, pace.alone_bwd, plan_.overlap_grad_reduce);
    times.reduce_hidden = reduce - times.reduce_exposed;
  }
  if (!times.gathers_every_pass) {
    times.gather_exposed = exposed_of(gather, pace.alone_fwd, plan_.overlap_param_gather);
    times.gather_hidden = gather - times.gather_exposed;
  }
  times.exposed = times.reduce_exposed + times.gather_exposed;
  times.hidden = times.reduce_hidden + times.gather_hidden;
  return times;
}

// Those that are trained: frozen weights have no gradient and no optimizer.
RankParameters Schedule::CountParameters(const RankContents& rank) const {
  if (!plan_.adapters.any()) return ParametersOf(*work_.shape, plan_, rank);
  std::array<AdapterParameters, kMaxLayerKinds> adapters{};
  for (size_t i = 0; i < static_cast<size_t>(work_.kind_count); ++i) {
    adapters[i] = AdapterParametersOf(work_.kinds[i].adapters, plan_.adapters, t_, plan_.ep, plan_.etp);
  }
  const auto [dense, expert] = AdapterParametersOf(*work_.shape, plan_, rank, adapters);
  RankParameters trained;
  trained.other = dense;
  trained.expert = expert;
  return trained;
}

// With what is fixed.
double Schedule::OptimizerUs(const RankParameters& parameters) const {
  const double owned = parameters.dense() / DenseReplicas().owners + parameters.expert / ExpertReplicas().owners;
  const double on_host = owned * plan_.optimizer_offload;
  const double on_gpu_us = (owned - on_host) * kOptimizerBytes * rates_.optimizer_us + k_.step_fixed_us;
  if (on_host <= 0) return on_gpu_us;
  const double copies = on_host * kCopiedBytes * rates_.host_link_us,
               arithmetic = on_host * kHostOptimizerBytes / (k_.cpu_adam_gb * 1e3);
  return on_gpu_us + (plan_.overlap_optimizer_copies
                          ? std::max(copies, arithmetic) + kHostBehind * std::min(copies, arithmetic)
                          : copies + arithmetic);
}

OnceAStep Schedule::OnceOf(const RankContents& rank, const RankPace& pace) const {
  const RankParameters parameters = CountParameters(rank);
  return {DataParallel(parameters, pace), OptimizerUs(parameters), k_.step_fixed_us};
}

}  // namespace flightplan
