// Places the ranks of a layout: group sizes, and what each group spans. Closed formulas, safe for any sizes.
#pragma once

#include <cstdint>

#include "resolver/plan/config.h"
#include "resolver/plan/environment.h"

namespace flightplan {

// Rank order is upstream's: TP fastest, then CP, EP, DP, PP (Megatron-LM parallel_state.py, order "tp-cp-ep-dp-pp").
// 0 means "does not come out even", which the mesh rules report.
struct Placement {
  int64_t data_parallel_size = 0;         // GPUs / (TP*CP*PP)
  int64_t expert_data_parallel_size = 0;  // GPUs / (ETP*EP*PP)
  int64_t microbatch_count = 0;           // per step and data-parallel rank
  int64_t ep_domain_count = 1;            // NVLink domains that one expert-parallel group spans
  bool ep_crosses_node = false;
};

// A size as a configuration has it; one that is not set, or makes no sense, is 1. Unset, experts are split over the
// tensor-parallel ranks.
int64_t SizeOf(const Config& config, Knob knob);

Placement PlaceLayout(const Config& config, const Environment& env);

}  // namespace flightplan
