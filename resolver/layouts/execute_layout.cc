#include "resolver/layouts/execute_layout.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "resolver/base/status_macros.h"
#include "resolver/estimate/estimate.h"
#include "resolver/layouts/execution_space.h"
#include "resolver/layouts/given_knobs.h"
#include "resolver/layouts/last_look.h"
#include "resolver/layouts/layout_search.h"
#include "resolver/layouts/other_dispatchers.h"
#include "resolver/layouts/plan_cautions.h"
#include "resolver/layouts/weigh_executions.h"
#include "resolver/pipeline/resolve.h"
#include "resolver/planner/search.h"
#include "resolver/rules/decide/features.h"

namespace flightplan {
namespace {

using K = Knob;

// What another dispatcher may take at first sight: decisions that hang on it come on top.
constexpr double kPromise = 1.1;
// What another flex backend must gain over the one that stands first among those that are published. Half of what is as
// fast, since what both are executed with is as fast as the best already: else one backend more could be as slow as two
// such steps.
constexpr double kWorthABackend = kAsFast / 2;

// Whether the other leaves less room, and is not faster by what that counts for.
bool CostsMoreRoom(const ResolvedPlan& plan, const ResolvedPlan& other) {
  const auto ratio = [](const Caution* caution) { return caution == nullptr ? 0 : caution->ratio; };
  const double own = ratio(MemoryCautionOf(plan)), others = ratio(MemoryCautionOf(other));
  return others > own && other.step_us() * (1 + others) > plan.step_us() * (1 + own);
}

// What a step with this dispatcher may take at first sight, to be worth a look in the plan's place.
double PromisingUs(Dispatcher dispatcher, Dispatcher own, const ResolvedPlan& plan) {
  const bool alike = IsFlex(dispatcher) && IsFlex(own);
  return ExecutionLimitUs(plan, alike ? kWorthABackend : kAsFast) * (alike ? 1 : kPromise);
}

// By evidence, which is no reason for what does not fit.
bool ExecutionIsSettled(const ResolvedPlan& plan) {
  return Settled(plan, K::overlap_moe_expert_parallel_comm) || Settled(plan, K::cuda_graph_impl);
}

// Takes what the decisions make of these knobs in the plan's place, where it is better; whether it was. `carried`: what
// it might have of the plan.
absl::StatusOr<bool> TakeWith(const GivenKnobs& given, const NormalizedIntent& intent, const EvidenceSnapshot& evidence,
                              double room, bool with_carried, ResolvedPlan* plan, GivenKnobs* carried) {
  NormalizedIntent asked = intent;
  GiveKnobs(given, &asked);
  FLIGHTPLAN_ASSIGN_OR_RETURN(ResolvedPlan tried, Resolve(asked, evidence));
  carried->clear();
  if (NothingToWeigh(tried)) return false;
  ExecutionSearch search;
  FLIGHTPLAN_RETURN_IF_ERROR(WeighExecutions(asked, evidence, room, &search, &tried));
  if (!Launchable(tried) && ExecutionIsSettled(tried)) {
    search.by_evidence = false;
    FLIGHTPLAN_RETURN_IF_ERROR(WeighExecutions(asked, evidence, room, &search, &tried));
  }
  *carried = Carried(*plan, tried);
  // What no evidence speaks for gives way to any gain: else it would be longer than without what it needs.
  const double worth = Settled(*plan, K::moe_token_dispatcher_type) ? kWorthABackend : 0;
  // The room is the tried plan's own: what its decisions take is what a caller who asks for the dispatcher gets.
  if (!BetterExecuted(*plan, tried, search.Room(), 0, worth)) return false;
  if (with_carried && CostsMoreRoom(*plan, tried)) return false;
  TakeExecution(given, std::move(tried), plan);
  return true;
}

// Recipes that settle flex inside an NVLink domain have hybridep: for deepep in its place they do not speak.
bool ReopensAllToAll(const NormalizedIntent& intent, const ResolvedPlan& plan, Dispatcher was, Dispatcher now) {
  return was == Dispatcher::kHybridEp && now == Dispatcher::kDeepEp &&
         !decide::ExtractFeatures(intent, std::nullopt, plan.decided.config).ep_crosses_domain;
}

// Takes the dispatcher of what the search found, with what the decisions make of it, and where that is as much better
// with what the forecast chose of the plan's overlap and graphs, too; whether any was taken.
absl::StatusOr<bool> TakeDispatcher(const FoundPlan& found, const Candidate& base, const NormalizedIntent& intent,
                                    const EvidenceSnapshot& evidence, double room, ResolvedPlan* plan) {
  GivenKnobs given = DispatcherKnobs(found.candidate, plan->decided.config, intent), carried;
  FLIGHTPLAN_ASSIGN_OR_RETURN(const bool taken, TakeWith(given, intent, evidence, room, false, plan, &carried));
  if (carried.empty()) return taken;
  given.insert(given.end(), carried.begin(), carried.end());
  FLIGHTPLAN_ASSIGN_OR_RETURN(const bool with_all, TakeWith(given, intent, evidence, room, true, plan, &carried));
  if (with_all || found.candidate.ep_overlap != base.ep_overlap) return taken || with_all;
  // The decisions may leave uncomputed what the plan has no room for: the search found what fits there.
  const GivenKnobs roomy = RoomKnobs(found.candidate, plan->decided.config, intent);
  given.insert(given.end(), roomy.begin(), roomy.end());
  FLIGHTPLAN_ASSIGN_OR_RETURN(const bool with_room, TakeWith(given, intent, evidence, room, true, plan, &carried));
  return taken || with_room;
}

// Other dispatchers that are installed, each with what the decisions make of it.
absl::Status WeighDispatchers(const NormalizedIntent& intent, const EvidenceSnapshot& evidence, double room,
                              ExecutionSearch* prepared, ResolvedPlan* plan) {
  if (!intent.model.is_moe() || KeepsDispatcher(*plan)) return absl::OkStatus();
  ExecutionSearch& search = *prepared;
  const std::vector<Exchange> all = search.question.execution.exchanges;
  std::vector<Dispatcher> others = OtherDispatchers(intent, *plan, search.base.dispatcher);
  for (size_t i = 0; i < others.size(); ++i) {
    search.question.execution.exchanges = all;
    const double limit_us = PromisingUs(others[i], search.base.dispatcher, *plan);
    const std::optional<FoundPlan> found = SearchWith(others[i], *plan, limit_us, &search);
    if (!found.has_value()) continue;
    FLIGHTPLAN_ASSIGN_OR_RETURN(const bool taken, TakeDispatcher(*found, search.base, intent, evidence, room, plan));
    if (!taken) continue;
    const auto open = [&](Dispatcher other) { return std::find(others.begin(), others.end(), other) != others.end(); };
    const Dispatcher was = search.base.dispatcher;
    if (!open(Dispatcher::kAllToAll) && ReopensAllToAll(intent, *plan, was, others[i])) {
      others.push_back(Dispatcher::kAllToAll);
    }
    // Beside what the forecast chose with the new one it may be better again.
    if (!open(was)) others.push_back(was);
    PrepareExecutions(*plan, room, &search);
  }
  return absl::OkStatus();
}

// Takes a faster execution in the plan's place, of those that fill no more than the first of the rooms that anything
// fits.
absl::Status TakeFaster(const NormalizedIntent& intent, const EvidenceSnapshot& evidence, ResolvedPlan* plan) {
  for (const bool by_evidence : {true, false}) {
    for (const double room : kRooms) {
      ExecutionSearch search{.by_evidence = by_evidence};
      FLIGHTPLAN_RETURN_IF_ERROR(WeighExecutions(intent, evidence, room, &search, plan));
      FLIGHTPLAN_RETURN_IF_ERROR(WeighDispatchers(intent, evidence, room, &search, plan));
      if (Launchable(*plan)) return absl::OkStatus();
    }
    if (!ExecutionIsSettled(*plan)) break;
  }
  return absl::OkStatus();
}

absl::StatusOr<ResolvedPlan> Executed(const NormalizedIntent& intent, const EvidenceSnapshot& evidence) {
  absl::StatusOr<ResolvedPlan> plan = Resolve(intent, evidence);
  if (plan.ok() && !NothingToWeigh(*plan)) {
    absl::Status status = TakeFaster(intent, evidence, &*plan);
    if (status.ok()) status = LookAtExecutions(intent, evidence, &*plan);
    if (!status.ok()) plan = std::move(status);
  }
  return plan;  // the one return: the plan is made where the caller has it
}

// A room that was paid for dearly, or that the search made by the loss: what goes with the loss was decided for another
// one, so that each is asked for as a caller's word.
bool LossMovesMore(const ResolvedPlan& plan) {
  if (plan.step == nullptr) return false;
  const Candidate own = CandidateOf(plan);
  const Decision* const decision = FindDecision(plan.decided.decisions, K::cross_entropy_loss_fusion);
  const bool found = decision != nullptr && decision->rule_id == kExecutionDecision;
  return (found || PaysDearlyForRoom(own) || !Launchable(plan)) &&
         LossIsOpen(plan.intent, plan.step->model.shape(), plan.decided.config, own);
}

absl::Status WeighLoss(const NormalizedIntent& intent, const EvidenceSnapshot& evidence, ResolvedPlan* plan) {
  if (!LossMovesMore(*plan)) return absl::OkStatus();
  for (const bool fused : {false, true}) {
    const GivenKnobs given = {{K::cross_entropy_loss_fusion, Value(fused)}};
    NormalizedIntent asked = intent;
    GiveKnobs(given, &asked);
    FLIGHTPLAN_ASSIGN_OR_RETURN(ResolvedPlan tried, Executed(asked, evidence));
    if (RanksBefore(*plan, tried)) TakeExecution(given, std::move(tried), plan);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ResolvedPlan> ExecuteLayout(const NormalizedIntent& intent, const EvidenceSnapshot& evidence) {
  absl::StatusOr<ResolvedPlan> plan = Executed(intent, evidence);
  if (!plan.ok()) return plan;
  const auto executed = [&](const NormalizedIntent& asked) { return Executed(asked, evidence); };
  FLIGHTPLAN_RETURN_IF_ERROR(WeighWithinOverlap(intent, executed, &*plan));
  FLIGHTPLAN_RETURN_IF_ERROR(WeighLoss(intent, evidence, &*plan));
  return plan;
}

}  // namespace flightplan
