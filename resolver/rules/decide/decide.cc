#include "resolver/rules/decide/decide.h"

#include <utility>

#include "resolver/rules/decide/deliberation.h"
#include "resolver/rules/decide/measured.h"

namespace flightplan {

DecidedPlan Decide(const NormalizedIntent& intent, const DerivedPlan& start,
                   absl::Span<const Measurement* const> reported) {
  const std::vector<const Measurement*> pairs = decide::PairsFor(intent, reported);
  DecidedPlan plan;
  plan.config = start.config;
  plan.env = intent.env.vars;
  plan.decisions.reserve(64);
  decide::Deliberation d(intent, &plan, pairs);
  decide::DecideSizes(d);
  d.f = decide::ExtractFeatures(intent, start.shape, plan.config);
  // What must be settled first comes first: the arithmetic, then where tokens go, then what fits, then what may overlap
  // with what, and last what only follows from the rest.
  decide::DecidePrecision(d);
  decide::DecideBatch(d);
  decide::DecidePipeline(d);
  decide::DecideOptimizer(d);
  decide::DecideRouter(d);
  decide::DecideDispatcher(d);
  decide::DecideRecompute(d);
  decide::DecideExpertOverlap(d);
  decide::DecideSharedExpertOverlap(d);
  decide::DecideCudaGraphs(d);
  decide::DecideDelayedWgrad(d);
  decide::DecideDenseOverlap(d);
  decide::DecideOffload(d);
  decide::DecideFusions(d);
  decide::DecideEnvironment(d);
  plan.stages = std::move(d.f.stages);
  return plan;
}

}  // namespace flightplan
