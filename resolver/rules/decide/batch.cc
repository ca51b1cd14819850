// Sizes that a layout may leave open, and the host's garbage collector.
#include "resolver/rules/decide/deliberation.h"
#include "resolver/rules/decide/evidence.h"

namespace flightplan::decide {

void DecideSizes(Deliberation& d) {
  using K = Knob;
  if (d.intent.model.is_moe()) {
    const Value &tp = d.value(K::tensor_model_parallel_size), &ep = d.value(K::expert_model_parallel_size);
    if (SplitsExpertsAsDense(d.intent.env) && tp.integer() > 1 && ep.integer() <= 1) {
      d.Choose(K::expert_tensor_parallel_size, tp.integer(),
               {.rule_id = "decide.expert-tp",
                .reason = "before Megatron-Core 0.19 experts without EP get right gradients only where they are cut by "
                          "TP as dense weights are",
                .citations = {"NVIDIA/Megatron-LM#1628, #5916"}});
    }
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
