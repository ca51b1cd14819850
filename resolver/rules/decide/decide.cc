#include "resolver/rules/decide/decide.h"

#include <algorithm>
#include <iterator>
#include <optional>
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

void KeepAttentionOffOverlap(const Config& config, Knob list, AbSuggestion* ab) {
  const bool graphed = config.Get(K::cuda_graph_impl).text() == "transformer_engine";
  const bool overlapped = config.Get(K::overlap_moe_expert_parallel_comm).truthy();
  if (ab->knob == K::overlap_moe_expert_parallel_comm && ab->other_value.truthy() && graphed) {
    const Value& modules = config.Get(list);
    if (WithoutAttention(modules) != modules) CaptureWithoutAttention(list, modules, &ab->companions);
  } else if (ab->knob == K::cuda_graph_impl && overlapped) {
    for (auto& [companion, value] : ab->companions) {
      if (companion == list) value = WithoutAttention(value);
    }
  }
}

// Upstream has one of the two hide the exchange (ep-overlap.no-shared-expert-overlap).
void KeepSharedExpertAlone(const Config& config, AbSuggestion* ab) {
  constexpr Knob kShared = K::moe_shared_expert_overlap;
  if (ab->knob != K::overlap_moe_expert_parallel_comm || !ab->other_value.truthy()) return;
  std::erase_if(ab->companions, [](const auto& companion) { return companion.first == kShared; });
  if (config.Get(kShared).truthy()) ab->companions.emplace_back(kShared, false);
}

}  // namespace

void CompleteOtherSide(const NormalizedIntent& intent, const Config& config, AbSuggestion* ab) {
  if (!intent.model.is_moe()) return;
  const Knob list =
      config.origin(K::cuda_graph_modules) != Origin::kAbsent ? K::cuda_graph_modules : K::cuda_graph_scope;
  const bool attention_is_open =
      decide::OverlapSpoilsAttentionGraph(intent.workload.precision) && config.origin(list) != Origin::kCaller;
  if (attention_is_open) KeepAttentionOffOverlap(config, list, ab);
  KeepSharedExpertAlone(config, ab);
}

void CompleteOtherSides(const NormalizedIntent& intent, DecidedPlan* plan) {
  for (AbSuggestion& ab : plan->ab_suggestions) CompleteOtherSide(intent, plan->config, &ab);
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
  decide::DecideSparseAttention(d);
  decide::DecideBatch(d);
  decide::DecidePipeline(d);
  decide::DecideOptimizer(d);
  decide::ExpectPrecisionRecipe(d);
  decide::DecideParameterGather(d);
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
  CompleteOtherSides(intent, &plan);
  return plan;
}

EnvVars EnvironmentWith(const NormalizedIntent& intent, const std::optional<ModelShape>& shape, Config config) {
  DecidedPlan plan;
  plan.config = std::move(config);
  plan.env = intent.env.vars;
  decide::Deliberation d(intent, &plan);
  d.f = decide::ExtractFeatures(intent, shape, plan.config);
  decide::DecideEnvironment(d);
  return std::move(plan.env);
}

}  // namespace flightplan
