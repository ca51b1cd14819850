// Memory by closed formulas: parameters, gradients and optimizer state of the fullest GPU of every pipeline stage.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "resolver/derive/placement.h"
#include "resolver/plan/config.h"
#include "resolver/plan/intent.h"

namespace flightplan {

struct MemoryPart {
  absl::string_view name;  // "parameters", "gradients", "optimizer_state"
  int64_t bytes = 0;
};

struct StageMemory {
  int64_t stage = 0;
  std::vector<MemoryPart> parts;
  int64_t total_bytes = 0;
};

struct EstimatedPlan {
  std::vector<StageMemory> stages;  // empty: the layout does not come out even, nothing can be said
  int64_t fullest_bytes = 0;
  int64_t usable_bytes = 0;  // 0: the GPU's memory is not known
  absl::string_view scope;   // what is counted and what is not
};

EstimatedPlan Estimate(const NormalizedIntent& intent, const Placement& placement, const Config& config);

}  // namespace flightplan
