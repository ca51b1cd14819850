#include "resolver/layouts/plan_cautions.h"

#include "resolver/estimate/estimate.h"

namespace flightplan {

CautionContext CautionContextOf(const NormalizedIntent& intent) {
  return {intent.model.is_moe(), intent.gpu_count, intent.workload.seq_length,
          MemoryOf(intent.gpu).device.nvlink_domain_gpus};
}

const Caution* MemoryCautionOf(const ResolvedPlan& plan) {
  const double capacity = MemoryOf(plan.intent.gpu).capacity;
  return capacity > 0 ? MemoryCaution(MostMemory(plan) / capacity) : nullptr;
}

Cautions CautionsOf(const ResolvedPlan& plan, bool memory) {
  const Candidate c = CandidateOf(plan);
  CautionContext context = CautionContextOf(plan.intent);
  if (memory) context.memory = MemoryCautionOf(plan);
  return CautionsOf({c.tp, c.pp, c.vpp, c.cp, c.ep, c.etp, c.micro_batch_size}, c, context);
}

double RankedUs(const ResolvedPlan& plan) { return plan.step_us() * (1 + CautionsOf(plan, /*memory=*/true).ratio()); }

}  // namespace flightplan
