// How long one training step takes: work, exchanges, host and pipeline of one candidate, with an interval and its
// walls.
//
// Everything is closed formulas over a model's layer kinds: no allocation, a microsecond or two for a whole estimate.
// What overlaps with what under expert-parallel overlap is the two-stream walk of overlap.h.
#pragma once

#include <array>
#include <cmath>

#include "resolver/estimate/gpu_rates.h"
#include "resolver/estimate/work.h"

namespace flightplan {

// Microseconds of one step, by what the step waits for.
struct StepParts {
  double matmul = 0, attention = 0, memory_bound = 0, recompute = 0;  // compute
  double expert_exchange = 0, tensor_parallel = 0, context_parallel = 0, pipeline_transfer = 0,
         data_parallel = 0;  // exposed communication
  double host = 0;           // exposed
  double bubble = 0;
  double optimizer = 0;  // with what is fixed per step, and offload

  double compute() const { return matmul + attention + memory_bound + recompute; }
  double communication() const {
    return expert_exchange + tensor_parallel + context_parallel + pipeline_transfer + data_parallel;
  }
  double total() const { return compute() + communication() + host + bubble + optimizer; }
};

// Microseconds of one step that communication runs beside compute, so that the step does not wait for it.
struct HiddenCommunication {
  double expert_exchange = 0, tensor_parallel = 0, context_parallel = 0, pipeline_transfer = 0, data_parallel = 0;
};

struct StepForecast {
  double us = 0, low_us = 0, high_us = 0;
  StepParts parts;
  double hidden_exchange_us = 0;  // exchange that EP overlap runs beside compute
  HiddenCommunication hidden;
  double model_flops = 0;  // of the step, as Megatron-Bridge counts them

  // False is our bug: the ranges of what goes in (plan/quantity.h) leave no room for it. Nothing is computed with such
  // a forecast.
  bool is_finite() const { return std::isfinite(high_us) && std::isfinite(model_flops); }
};

// One direction of one module for one microbatch: microseconds by kind of work, and kernels the host launches.
struct Load {
  double matmul = 0, attention = 0, memory = 0, transfer = 0, kernels = 0;
  double context = 0;                            // of transfer: context parallelism; the rest is tensor parallelism
  double hidden_tensor = 0, hidden_context = 0;  // transfers beside compute, in none of the above

  double gpu() const { return matmul + attention + memory; }
  Load& operator+=(const Load& other) {
    matmul += other.matmul;
    attention += other.attention;
    memory += other.memory;
    transfer += other.transfer;
    kernels += other.kernels;
    context += other.context;
    hidden_tensor += other.hidden_tensor;
    hidden_context += other.hidden_context;
    return *this;
  }
};

// One layer or stage and one microbatch.
struct LayerTime {
  Load fwd, bwd, again;  // again: recomputed, part of the backward pass
  double fwd_exchange = 0, bwd_exchange = 0, again_exchange = 0;
  double shared_hidden = 0;                            // exchange of the forward pass beside the shared experts
  double pair = 0, pair_hidden = 0, pair_exposed = 0;  // a forward beside a backward
  double host_fwd = 0, host_bwd = 0;
};

// The half of a forecast that does not depend on the pipeline: a search makes it once for all candidates that differ in
// pp, vpp, stages, optimizer and number of GPUs alone.
struct LayerTimes {
  std::array<LayerTime, kMaxLayerKinds> kinds;
  LayerTime head;  // output layer and loss
};
LayerTimes TimeLayers(const ModelWork& work, const Candidate& plan, const GpuRates& rates);

// False, with `out` empty: the GPU's rates are not known or the candidate has no work; false, with an `out` that is not
// finite: see there. `work` is the model's (WorkOf), made once.
bool ForecastStep(const ModelWork& work, const Candidate& plan, const GpuRates& rates, StepForecast* out);

// The same with layers that were timed before.
bool ForecastStep(const ModelWork& work, const Candidate& plan, const GpuRates& rates, const LayerTimes& layers,
                  StepForecast* out);

// Microseconds of a step that go to transfers between stages of which `stage_bytes` leave for every microbatch. It
// depends on sizes alone, not on how a layout is executed.
struct PipelineTransfer {
  double exposed = 0, hidden = 0;
};
PipelineTransfer PipelineTransferOf(const GpuRates& rates, double gpus, double stage_bytes, double microbatches,
                                    double pp, double vpp);

// What nothing hides of it.
double PipelineTransferUs(const GpuRates& rates, double gpus, double stage_bytes, double microbatches, double pp,
                          double vpp);

// No candidate with these sizes can be faster: its model FLOPs at the data sheet's peak, and the pipeline's bubble.
double StepLowerBoundUs(const ModelWork& work, const Candidate& plan, const GpuRates& rates);

}  // namespace flightplan
