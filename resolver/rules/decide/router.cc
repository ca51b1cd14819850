// Router arithmetic, and forced balance for benchmarks.
#include "resolver/rules/decide/deliberation.h"
#include "resolver/rules/decide/evidence.h"

namespace flightplan::decide {

void DecideRouter(Deliberation& d) {
  using K = Knob;
  if (!d.f.moe) return;
  d.Choose(K::moe_router_dtype, "fp32",
           {.rule_id = "decide.router",
            .reason = "routing in FP32 is the guides' advice, and the flex dispatchers take FP32 probabilities only",
            .basis = Basis::kGuidance,
            .citations = {evidence::kMoeGuide}});
  if (d.f.benchmark) {
    d.Choose(K::moe_router_force_load_balancing, true,
             {.rule_id = "decide.router",
              .reason = "benchmark: forced balance makes runs comparable; not for training",
              .basis = Basis::kGuidance,
              .citations = {evidence::kDispatcherGuide}});
  }
}

}  // namespace flightplan::decide
