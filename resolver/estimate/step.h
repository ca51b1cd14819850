// How long one training step takes: work, exchanges, host and pipeline of one candidate, with an interval and its
// walls.
//
// Everything is closed formulas over a model's layer kinds: no allocation, a microsecond or two for a whole estimate.
// What overlaps with what under expert-parallel overlap is the two-stream walk of overlap.h.
#pragma once

#include <cmath>

#include "resolver/estimate/gpu_rates.h"
#include "resolver/estimate/layer_time.h"
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
  double model_flops = 0;  // of the step

  // False is our bug: the ranges of what goes in (plan/quantity.h) leave no room for it. Nothing is computed with such
  // a forecast.
  bool is_finite() const { return std::isfinite(high_us) && std::isfinite(model_flops); }
};

// False, with `out` empty: the GPU's rates are not known or the candidate has no work; false, with an `out` that is not
// finite: see there. `work` is the model's (WorkOf), made once.
bool ForecastStep(const ModelWork& work, const Candidate& plan, const GpuRates& rates, StepForecast* out);

// The same with layers that were timed before.
bool ForecastStep(const ModelWork& work, const Candidate& plan, const GpuRates& rates, const LayerTimes& layers,
                  StepForecast* out);

// Microseconds of the step alone; infinite where they are `limit_us` or more, and where there is no forecast. Else
// `out` has them with their parts, without the interval and the FLOPs.
double StepUsBelow(double limit_us, const ModelWork& work, const Candidate& plan, const GpuRates& rates,
                   const LayerTimes& layers, StepForecast* out);

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

// Of the model FLOPs of a step, the share that is computed: frozen weights have no gradients, a third of the products.
inline double ComputedShare(const Candidate& plan) { return plan.adapters.any() ? 2.0 / 3 : 1; }

}  // namespace flightplan
