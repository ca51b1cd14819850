#include "resolver/timeline/pass_cost.h"

#include <algorithm>

namespace flightplan {
namespace {

using K = TimelineKind;

double ForwardCompute(const PieceTime& t) { return t.fwd.gpu(); }
double BackwardCompute(const PieceTime& t) { return t.bwd.gpu() + t.again.gpu(); }
double Transfers(const PieceTime& t) { return t.fwd.transfer + t.bwd.transfer + t.again.transfer; }

// What a pair's exchanges cost beside its compute and its other transfers: what is exposed of them, and what running
// beside them costs the compute.
double PairExchange(const PieceTime& t) {
  return std::max(0.0, t.pair - ForwardCompute(t) - BackwardCompute(t) - Transfers(t));
}

void AddForward(const PieceTime& t, double share_of_exchange, PassCost* cost) {
  cost->exposed[At(K::kForward)] += t.fwd.gpu();
  cost->exposed[At(K::kTensorParallel)] += t.fwd.transfer - t.fwd.context;
  cost->exposed[At(K::kContextParallel)] += t.fwd.context;
  cost->exposed[At(K::kExpertExchange)] += share_of_exchange;
  cost->hidden[At(K::kTensorParallel)] += t.fwd.hidden_tensor;
  cost->hidden[At(K::kContextParallel)] += t.fwd.hidden_context;
}

void AddBackward(const PieceTime& t, double share_of_exchange, PassCost* cost) {
  cost->exposed[At(K::kBackward)] += t.bwd.gpu() - t.weight_gradient;
  cost->exposed[At(K::kWeightGradient)] += t.weight_gradient;
  cost->exposed[At(K::kRecompute)] += t.again.gpu();
  cost->exposed[At(K::kTensorParallel)] += t.bwd.transfer + t.again.transfer - t.bwd.context - t.again.context;
  cost->exposed[At(K::kContextParallel)] += t.bwd.context + t.again.context;
  cost->exposed[At(K::kExpertExchange)] += share_of_exchange;
  cost->hidden[At(K::kTensorParallel)] += t.bwd.hidden_tensor + t.again.hidden_tensor;
  cost->hidden[At(K::kContextParallel)] += t.bwd.hidden_context + t.again.hidden_context;
}

double Ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

}  // namespace

double PassCost::us() const {
  double sum = 0;
  for (double part : exposed) sum += part;
  return sum;
}

PassCost operator+(const PassCost& a, const PassCost& b) {
  PassCost sum = a;
  for (size_t i = 0; i < kTimelineKinds; ++i) {
    sum.exposed[i] += b.exposed[i];
    sum.hidden[i] += b.hidden[i];
  }
  return sum;
}

RankCosts::RankCosts(const StepDetail& detail, int rank, bool ep_overlap, absl::Span<const PieceTime> chunks)
    : stretch_(detail.stretch), microbatches_(detail.microbatches) {
  const RankDetail& own = detail.ranks[static_cast<size_t>(rank)];
  const RankPace& pace = own.pace;
  const double host = own.time.host_fwd + own.time.host_bwd, gap = Ratio(pace.gap, host);
  wait_forward_ = Ratio(pace.alone_fwd - pace.fwd_gpu, own.time.host_fwd) + gap;
  wait_backward_ = Ratio(pace.alone_bwd - pace.bwd_gpu, own.time.host_bwd) + gap;
  offload_ = Ratio(Ratio(own.offload, detail.microbatches), pace.alone);
  data_parallel_ = own.once.data_parallel;
  if (!ep_overlap) return;
  double busy = 0;
  for (const PieceTime& t : chunks) busy += ForwardCompute(t) + BackwardCompute(t) + Transfers(t) + PairExchange(t);
  wait_paired_ = Ratio(std::max(0.0, pace.paired - busy), host);
}

PassCost RankCosts::Stretched(PassCost cost) const {
  for (double& us : cost.exposed) us *= stretch_;
  return cost;
}

PassCost RankCosts::Forward(const PieceTime& t) const {
  PassCost cost;
  AddForward(t, t.fwd_exchange, &cost);
  cost.hidden[At(K::kExpertExchange)] = t.shared_hidden;
  cost.exposed[At(K::kHost)] = wait_forward_ * t.host_fwd;
  cost.exposed[At(K::kActivationOffload)] = offload_ * cost.us();
  return Stretched(cost);
}

PassCost RankCosts::Backward(const PieceTime& t) const {
  PassCost cost;
  AddBackward(t, t.bwd_exchange + t.again_exchange, &cost);
  cost.exposed[At(K::kHost)] = wait_backward_ * t.host_bwd;
  cost.exposed[At(K::kActivationOffload)] = offload_ * cost.us();
  return Stretched(cost);
}

PassCost RankCosts::HalfPair(const PieceTime& t, bool backward) const {
  PassCost cost;
  const double exchange = 0.5 * PairExchange(t);
  if (backward) {
    AddBackward(t, exchange, &cost);
  } else {
    AddForward(t, exchange, &cost);
  }
  cost.hidden[At(K::kExpertExchange)] = 0.5 * t.pair_hidden;
  cost.exposed[At(K::kHost)] = wait_paired_ * (backward ? t.host_bwd : t.host_fwd);
  // As much as the forecast gives to a microbatch, which it counts by the two passes alone.
  const PassCost alone = backward ? Backward(t) : Forward(t);
  cost.exposed[At(K::kActivationOffload)] = alone.exposed[At(K::kActivationOffload)] / stretch_;
  return Stretched(cost);
}

PassCost RankCosts::EveryPass(bool backward, int chunks) const {
  PassCost cost;
  const DataParallelTimes& dp = data_parallel_;
  // Weights are gathered for both passes, gradients reduced behind the backward.
  const double passes = microbatches_ * chunks;
  if (dp.gathers_every_pass) {
    cost.exposed[At(K::kParameterGather)] = dp.gather_exposed / passes / 2;
    cost.hidden[At(K::kParameterGather)] = dp.gather_hidden / passes / 2;
  }
  if (dp.reduces_every_pass && backward) {
    cost.exposed[At(K::kGradientReduce)] = dp.reduce_exposed / passes;
    cost.hidden[At(K::kGradientReduce)] = dp.reduce_hidden / passes;
  }
  return cost;
}

}  // namespace flightplan
