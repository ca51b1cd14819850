// The pipeline's half of a step's forecast: what the microbatches on the slowest stage, the bubble, the transfers
// between stages and what is done once a step add up to. Of the forecast (step.h) and of its pieces (step_detail.h)
// alone.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "resolver/derive/rank_parameters.h"
#include "resolver/estimate/step.h"
#include "resolver/estimate/step_detail.h"

namespace flightplan {

// Larger of two, rounded where they meet: some of a layer's kernels wait for the host and others for the GPU, and each
// wait for the number of rows that arrive drains what the host had launched ahead.
inline double SoftMax(double a, double b) { return std::sqrt(a * a + b * b); }

// Of a step on one data-parallel rank; 0: the sizes leave none.
inline double MicrobatchesOf(const Candidate& plan) {
  const double dp = static_cast<double>(plan.gpus) / plan.tp / plan.cp / plan.pp;
  return dp > 0 ? static_cast<double>(plan.global_batch_size) / (dp * static_cast<double>(plan.micro_batch_size)) : 0;
}

// One microbatch on a rank in the steady state, as far as it tells which rank is the slowest.
struct Pace {
  double us = 0;
  double forward = 0;  // share of it
};

// Of the compute beside it, what a transfer can use (chosen).
inline constexpr double kBesideCompute = 0.8;

// One step of a candidate, of layers that are timed. What it is made from must outlive it.
class Schedule {
 public:
  Schedule(const ModelWork& work, const Candidate& plan, const GpuRates& rates, const LayerTimes& layers)
      : work_(work),
        plan_(plan),
        rates_(rates),
        k_(rates.k),
        layers_(layers),
        batch_(plan, rates),
        microbatches_(MicrobatchesOf(plan)),
        t_(plan.tp),
        h_(work.hidden) {}

  bool Run(StepForecast* out);
  double UsBelow(double limit_us, StepForecast* out);

  // Pieces of it (estimate/step_detail.h).
  double microbatches() const { return microbatches_; }
  Pace PaceOf(const RankContents& rank) const;
  LayerTime TimeOf(const RankContents& rank) const;
  RankPace MicrobatchPace(const LayerTime& rank) const;
  OnceAStep OnceOf(const RankContents& rank, const RankPace& pace) const;
  // What activations on their way to the host and back add to a step of this rank.
  double OffloadUs(const RankContents& rank, const RankPace& pace) const;
  PipelineTransfer TransferOf(double microbatches) const;

 private:
  bool WholeIteration() const { return plan_.graphs == GraphImpl::kFullIteration; }
  double LayersOf(const RankContents& rank, size_t kind) const {
    return rank.layers[kind] + static_cast<double>(rank.mtp_depths) * work_.mtp_layers[kind];
  }
  bool Known() const {
    const bool stages_known = plan_.stages != nullptr && !plan_.stages->contents.empty();
    return rates_.known && stages_known && microbatches_ > 0 && batch_.tokens > 0;
  }
  const RankContents& FindSlowest();
  void TimeMicrobatch();
  void AddWait();
  // `fwd`, `bwd`: of the GPU, and `pair`: of both, one beside the other; microseconds.
  RankPace PaceFrom(double fwd, double bwd, double pair, double host_fwd, double host_bwd) const;
  double VirtualStages() const { return plan_.pp > 1 ? std::max(1, plan_.vpp) : 1; }
  double WarmUp() const;  // in microbatches
  double SteadyUs() const { return (microbatches_ - unpaired_) * pace_.paired + unpaired_ * pace_.alone; }
  double SteadyWait() const;
  double OnceWait(const RankContents& slowest, const OnceAStep& own) const;
  void AddParts(const RankContents& slowest, StepForecast* out) const;
  void AddSteady(StepForecast* out) const;
  void AddHidden(StepForecast* out) const;
  void AddTransfers(StepForecast* out) const;
  // GPUs that hold the same parameters: `inner` of them divide the optimizer's state between them, neighbours `stride`
  // GPUs apart, and `outer` such groups do the same, each whole or, with `owners` more than `inner`, a part each.
  struct Replicas {
    double inner = 1, outer = 1, stride = 1, owners = 1;
  };
  Replicas DenseReplicas() const;
  Replicas ExpertReplicas() const;
  Replicas ReplicasOf(double ranks, double stride) const;
  double OuterUs(double gradients, double weights, const Replicas& replicas) const;
  double DataParallelUs(double bytes, double ranks, double stride) const;
  DataParallelTimes DataParallel(const RankParameters& parameters, const RankPace& pace) const;
  RankParameters CountParameters(const RankContents& rank) const;
  double OptimizerUs(const RankParameters& parameters) const;
  double OffloadedBytes(const RankContents& rank) const;
  double OffloadWait(double own_us) const;
  double AttentionError() const;
  void AddInterval(StepForecast* out) const;

  const ModelWork& work_;
  const Candidate& plan_;
  const GpuRates& rates_;
  const StepCoefficients& k_;
  const LayerTimes& layers_;
  const Microbatch batch_;
  const double microbatches_;
  const double t_, h_;
  LayerTime s_;  // one microbatch on the slowest stage
  double slowest_us_ = -1, mean_us_ = 0;
  RankPace pace_;  // of it
  double bubble_us_ = 0;
  double may_wait_ = 0;     // microbatches in which ranks may wait for each other
  double steady_wait_ = 0;  // of the bubble, as many microbatches: what they do
  double unpaired_ = 0;     // microbatches whose forward and backward run alone
};

}  // namespace flightplan
