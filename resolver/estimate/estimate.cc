#include "resolver/estimate/estimate.h"

#include <algorithm>

#include "resolver/derive/fit.h"

namespace flightplan {

EstimatedPlan Estimate(const NormalizedIntent& intent, const Placement& placement, const Config& config) {
  EstimatedPlan plan;
  plan.scope = "parameters, gradients and optimizer state; activations, dispatch buffers and graphs are not counted";
  plan.usable_bytes = intent.gpu.hbm_bytes.value_or(0);
  if (placement.data_parallel_size == 0 || (intent.model.is_moe() && placement.expert_data_parallel_size == 0))
    return plan;
  const auto stages = StaticMemoryByStage(intent.model, config, placement, intent.gpu.cc_major);
  if (!stages.ok()) return plan;  // a model without countable parameters is a finding of its own
  for (const StaticMemory& memory : *stages) {
    StageMemory& stage = plan.stages.emplace_back();
    stage.stage = static_cast<int64_t>(plan.stages.size()) - 1;
    stage.parts = {{"parameters", memory.parameters},
                   {"gradients", memory.gradients},
                   {"optimizer_state", memory.optimizer_state}};
    stage.total_bytes = memory.total();
    plan.fullest_bytes = std::max(plan.fullest_bytes, stage.total_bytes);
  }
  return plan;
}

}  // namespace flightplan
