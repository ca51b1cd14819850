// Router arithmetic, and forced balance for benchmarks.
#include <string>

#include "resolver/rules/decide/deliberation.h"
#include "resolver/rules/decide/evidence.h"

namespace flightplan::decide {
namespace {

// As the rule of the same name has it of a launch that names its data, which a plan need not.
Finding ForcedBalance() {
  Finding finding = DecisionWarning("field.forced-balance-on-data", "field-report");
  finding.observed.push_back({std::string(Name(Knob::moe_router_force_load_balancing)), Value(true)});
  finding.seen = "moe_router_force_load_balancing=true, and the run is to train";
  finding.needs = "tokens go to experts by random numbers, so the router learns nothing: for benchmarks alone";
  finding.fixes.push_back({{Knob::moe_router_force_load_balancing, "", Value(false)}});
  return finding;
}

}  // namespace

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
  } else if (d.on(K::moe_router_force_load_balancing) && !d.on(K::data_path) && !d.on(K::mock_data)) {
    d.Report(ForcedBalance());
  }
}

}  // namespace flightplan::decide
