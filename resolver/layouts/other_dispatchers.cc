#include "resolver/layouts/other_dispatchers.h"

#include <algorithm>

#include "resolver/layouts/execution_space.h"
#include "resolver/rules/decide/features.h"

namespace flightplan {
namespace {

using K = Knob;

bool RegainsTensorOverlap(Dispatcher dispatcher, const ResolvedPlan& plan, const Candidate& base) {
  return IsFlex(base.dispatcher) && !IsFlex(dispatcher) && base.tp > 1 && base.sequence_parallel &&
         !PinOf(plan.intent, K::tp_comm_overlap).has_value();
}

}  // namespace

std::vector<Dispatcher> OtherDispatchers(const NormalizedIntent& intent, const ResolvedPlan& plan, Dispatcher own) {
  const Decision* const decision = FindDecision(plan.decided.decisions, K::moe_token_dispatcher_type);
  // As the planner has it: no tokens leave the GPU, so that there is no exchange to choose.
  if (plan.decided.config.Get(K::expert_model_parallel_size).integer() <= 1) return {};
  std::vector<Dispatcher> others = {Dispatcher::kAllToAll, Dispatcher::kDeepEp, Dispatcher::kHybridEp};
  std::erase(others, own);
  if (own == Dispatcher::kDeepEp &&
      !decide::HybridepMapFits(decide::ExtractFeatures(intent, std::nullopt, plan.decided.config))) {
    std::erase(others, Dispatcher::kHybridEp);
  }
  // What evidence says of speed is no reason for what does not fit.
  if (decision == nullptr || !IsSettled(*decision) || !Launchable(plan)) return others;
  if (decision->basis != Basis::kRecipes || own == Dispatcher::kAllToAll) return {};
  std::erase(others, Dispatcher::kAllToAll);
  return others;
}

std::optional<FoundPlan> SearchBeside(absl::Span<const Dispatcher> dispatchers, const ResolvedPlan& plan,
                                      const StageLayout& stages, double limit_us, ExecutionSearch* search) {
  const bool own = search->base.tp_overlap;
  search->base.tp_overlap |= std::any_of(dispatchers.begin(), dispatchers.end(), [&](Dispatcher dispatcher) {
    return RegainsTensorOverlap(dispatcher, plan, search->base);
  });
  std::optional<FoundPlan> found = SearchExecutions(search->question, search->sizes, stages, limit_us);
  search->base.tp_overlap = own;
  return found;
}

std::optional<FoundPlan> SearchWith(Dispatcher dispatcher, const ResolvedPlan& plan, double limit_us,
                                    ExecutionSearch* prepared) {
  ExecutionSearch& search = *prepared;
  std::erase_if(search.question.execution.exchanges,
                [&](const Exchange& exchange) { return exchange.dispatcher != dispatcher; });
  if (search.question.execution.exchanges.empty()) return std::nullopt;
  const bool alike = IsFlex(dispatcher) && IsFlex(search.base.dispatcher);
  const std::vector<Graphs> graphs = search.question.execution.graphs;
  if (alike && Settled(plan, K::cuda_graph_impl)) search.question.execution.graphs = {search.own_graphs};
  std::optional<FoundPlan> found = SearchBeside({dispatcher}, plan, plan.step->stages, limit_us, &search);
  search.question.execution.graphs = graphs;
  return found;
}

}  // namespace flightplan
