// Sizes that a layout may leave open, and the host's garbage collector.
#include "resolver/rules/decide/deliberation.h"
#include "resolver/rules/decide/evidence.h"

namespace flightplan::decide {

void DecideSizes(Deliberation& d) {
  using K = Knob;
  if (d.intent.model.is_moe()) {
    // Upstream's default splits each expert over the TP ranks, which leaves small GEMMs.
    d.Choose(K::expert_tensor_parallel_size, 1,
             {.rule_id = "decide.expert-tp",
              .reason = "experts are spread over EP, not cut by TP: their GEMMs stay whole",
              .basis = Basis::kRecipes,
              .citations = {evidence::kMoeGuide}});
  }
  if (d.value(K::micro_batch_size).is_none()) {
    d.Choose(K::micro_batch_size, 1,
             {.rule_id = "decide.batch",
              .reason = "left open: one sequence needs the least memory",
              .basis = Basis::kGuidance});
  }
}

void DecideBatch(Deliberation& d) {
  using K = Knob;
  if (d.f.bring_up) return;
  if (d.Choose(K::manual_gc, true,
               {.rule_id = "decide.batch",
                .reason = "ranks collect garbage at the same step instead of stalling one another",
                .basis = Basis::kGuidance,
                .citations = {evidence::kMoeGuide}})) {
    d.Follow(K::manual_gc_interval, 100, K::manual_gc, "decide.batch", "often enough to bound host memory");
  }
}

}  // namespace flightplan::decide
