// What people compare runs by: tokens and model FLOPs per second, utilization, and what communication costs by parallel
// path. A reading of a forecast; nothing here moves it.
#pragma once

#include <array>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "resolver/derive/candidate.h"
#include "resolver/estimate/step_model.h"
#include "resolver/plan/environment.h"

namespace flightplan {

// One parallel path's collectives in a step.
struct CommunicationPath {
  absl::string_view name;                // "expert_parallel"
  double exposed_us = 0, hidden_us = 0;  // the step waits for it; it runs beside compute
};

struct Throughput {
  double step_flops = 0;         // of the whole step, as the stack's own log counts them
  double computed_flops = 0;     // of the same: the keys that queries meet alone
  double tokens_per_second = 0;  // of all GPUs
  double tokens_per_second_per_gpu = 0;
  double flops_per_second_per_gpu = 0;
  double peak_flops_per_second = 0;  // dense, of the precision that most matrix products are in; 0: not published
  double mfu = 0;                    // 0..1, of `computed_flops`; 0: no peak
  std::array<CommunicationPath, 5> communication;
};

// Of a step that was forecast, with what a profile and reported runs say of it. The paths' exposed parts are the
// outlook's communication; hidden parts scale with the step.
Throughput ThroughputOf(const StepModel& model, const Candidate& candidate, Target target, const StepForecast& forecast,
                        const StepOutlook& outlook);

// Below what no step ends, in microseconds: the matrix products with weights, forward and backward, at the peak of all
// GPUs. Attention is left out, since packed sequences may have next to none. 0: no peak is published.
double LeastStepUs(const StepModel& model, const Candidate& candidate);

// Model FLOPs of one token, forward and backward, as the stack's own throughput log counts them:
// Megatron-LM's num_floating_point_operations charges full causal attention to layers with a window and to sparse ones
// (NVIDIA/Megatron-LM@d98e8a64dd megatron/training/training.py:802), Megatron-Bridge's clips it
// (NVIDIA-NeMo/Megatron-Bridge@067f987df0 src/megatron/bridge/training/utils/flop_utils.py:604). Both take a Mamba
// layer's inner size to be twice the hidden size, whatever its heads are.
double LoggedFlopsPerToken(const ModelShape& shape, Target target, double seq_length,
                           IndexerLoss loss = IndexerLoss::kNone);

}  // namespace flightplan
