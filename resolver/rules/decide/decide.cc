#include "resolver/rules/decide/decide.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "resolver/rules/decide/deliberation.h"
#include "resolver/rules/decide/measured.h"

namespace flightplan {
namespace {

using K = Knob;
using Companions = std::vector<std::pair<Knob, Value>>;

Value WithoutAttention(const Value& modules) {
  Value::List others;
  std::copy_if(modules.list().begin(), modules.list().end(), std::back_inserter(others),
               [](const Value& module) { return module != Value("attn"); });
  return Value(std::move(others));
}

// Captures as `modules` says, without attention; where nothing else is captured, nothing is.
void CaptureWithoutAttention(Knob list, const Value& modules, Companions* companions) {
  std::erase_if(*companions, [&](const auto& companion) { return companion.first == list; });
  Value others = WithoutAttention(modules);
  if (others.list().empty()) companions->emplace_back(K::cuda_graph_impl, Value("none"));
  companions->emplace_back(list, std::move(others));
}

}  // namespace

void KeepAttentionOffOverlap(const NormalizedIntent& intent, DecidedPlan* plan) {
  const Config& config = plan->config;
  const Knob list =
      config.origin(K::cuda_graph_modules) != Origin::kAbsent ? K::cuda_graph_modules : K::cuda_graph_scope;
  if (!intent.model.is_moe() || !decide::OverlapSpoilsAttentionGraph(intent.workload.precision) ||
      config.origin(list) == Origin::kCaller) {
    return;
  }
  const bool graphed = config.Get(K::cuda_graph_impl).text() == "transformer_engine";
  const bool overlapped = config.Get(K::overlap_moe_expert_parallel_comm).truthy();
  for (AbSuggestion& ab : plan->ab_suggestions) {
    if (ab.knob == K::overlap_moe_expert_parallel_comm && ab.other_value.truthy() && graphed) {
      const Value& modules = config.Get(list);
      if (WithoutAttention(modules) != modules) CaptureWithoutAttention(list, modules, &ab.companions);
    } else if (ab.knob == K::cuda_graph_impl && overlapped) {
      for (auto& [companion, value] : ab.companions) {
        if (companion == list) value = WithoutAttention(value);
      }
    }
  }
}

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
  decide::ExpectPrecisionRecipe(d);
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
  KeepAttentionOffOverlap(intent, &plan);
  return plan;
}

}  // namespace flightplan
