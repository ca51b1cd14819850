#include "resolver/layouts/execute_layout.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "resolver/base/status_macros.h"
#include "resolver/estimate/effect.h"
#include "resolver/estimate/estimate.h"
#include "resolver/layouts/execution_space.h"
#include "resolver/layouts/given_knobs.h"
#include "resolver/layouts/layout_search.h"
#include "resolver/pipeline/resolve.h"
#include "resolver/plan/stack.h"
#include "resolver/planner/search.h"
#include "resolver/rules/decide/features.h"

namespace flightplan {
namespace {

using K = Knob;

// What another dispatcher may take at first sight: decisions that hang on it, such as the TP overlap, come on top.
constexpr double kPromise = 1.1;
// What another flex backend must gain over the one that stands first among those that are published. Half of what is as
// fast, since what both are executed with is as fast as the best already: else one backend more could be as slow as two
// such steps.
constexpr double kWorthABackend = kAsFast / 2;
// Executions that go through the whole pipeline: the rules of the release may refuse the best.
constexpr int kMostTried = 3;
constexpr int kMostRounds = 3;

// By how many half-widths of the difference's interval an execution must be faster where evidence left the choice to an
// A/B. An interval that leaves out zero had the right sign in 42 of 43 matched pairs (evidence_check over
// tests/data/evidence.jsonl.gz); but such pairs are published where they gained, and what recipes leave off they leave
// off for reasons that no forecast sees, so twice the error of the difference is asked for. Where no evidence speaks,
// the forecast alone decides.
constexpr double kErrorsOfAnAb = 2;

// A candidate's forecast may be off that of its whole answer, by what goes with its knobs: it is asked for a quarter
// less.
constexpr double kMarginOfACandidate = 4.0 / 3;

// By how much, of the step, two ways to work out one forecast may differ.
constexpr double kRounding = 1e-9;

// What a joint search looks at; it points into itself.
struct ExecutionSearch {
  Candidate base;
  SearchQuestion question;
  LayoutSizes sizes;
  ExecutionSpace all;  // before anything was taken from the question's
  Graphs own_graphs;   // the base's

  double Room() const { return question.room * question.memory.capacity; }  // bytes; 0: not known
};

// `room`: share of the memory that an execution may fill.
void Prepare(const ResolvedPlan& plan, double room, ExecutionSearch* s) {
  const PlannedStep& step = *plan.step;
  const Config& config = plan.decided.config;
  const ModelShape& shape = step.model.shape();
  s->base = CandidateOf(config, plan.env, shape, step.stages);
  const Candidate& base = s->base;
  s->sizes = {base.tp, base.pp, base.vpp, base.cp, base.ep, base.etp, base.micro_batch_size};
  SearchQuestion& q = s->question;
  q.shape = &shape;
  q.work = &step.model.work();
  q.rates = step.model.rates();
  q.memory = MemoryOf(plan.intent.gpu);
  // What the decisions took is what they hold for enough.
  q.room = room;
  if (q.memory.capacity > 0 && Launchable(plan)) q.room = std::max(room, MostMemory(plan) / q.memory.capacity);
  q.layout.gpus = base.gpus;
  q.layout.global_batch_size = base.global_batch_size;
  q.layout.seq_length = base.seq_length;
  q.layout.sequence_parallel = base.sequence_parallel;
  s->all = q.execution = ExecutionsOf(plan.intent, shape, config, base);
  s->own_graphs = OwnGraphs(plan.intent, shape, config, base);
  q.base = [s](const LayoutSizes&) { return s->base; };
}

// Takes from the space what the rules refused of the candidate; false: nothing is left to take.
bool LeaveOut(const Candidate& refused, ExecutionSpace* space) {
  const Exchange exchange = {refused.dispatcher, refused.ep_overlap};
  const auto is_graph = [&](const Graphs& graphs) {
    return graphs.impl == refused.graphs && ModulesBeside(exchange, graphs) == refused.graph_modules;
  };
  const auto is_exchange = [&](const Exchange& other) {
    return other.dispatcher == refused.dispatcher && other.ep_overlap == refused.ep_overlap;
  };
  if (refused.graphs != GraphImpl::kNone && space->graphs.size() > 1) return std::erase_if(space->graphs, is_graph) > 0;
  return space->exchanges.size() > 1 && std::erase_if(space->exchanges, is_exchange) > 0;
}

// A bring-up asks for the plainest way: of a flex dispatcher, which is the caller's own word there, the backend alone
// is weighed.
bool Plainest(const ResolvedPlan& plan) { return plan.intent.stage == Stage::kBringUp; }

bool OnFlex(const ResolvedPlan& plan) { return plan.decided.config.Get(K::moe_token_dispatcher_type).text() == "flex"; }

// Nothing to weigh: no forecast, something that no execution mends, or a profile of the run itself speaks.
bool Closed(const ResolvedPlan& plan) {
  if (plan.step == nullptr || plan.intent.profile.has_value() || (Plainest(plan) && !OnFlex(plan))) return true;
  return std::any_of(plan.run.findings.begin(), plan.run.findings.end(), [](const Finding& finding) {
    return finding.severity == Severity::kError && finding.area != "fit";
  });
}

bool Settled(const ResolvedPlan& plan, Knob knob) {
  const Decision* const decision = FindDecision(plan.decided.decisions, knob);
  return decision != nullptr && IsSettled(*decision);
}

bool NeedsAb(const ResolvedPlan& plan, Knob knob) {
  const Decision* const decision = FindDecision(plan.decided.decisions, knob);
  return decision != nullptr && decision->needs_ab;
}

// Takes from the space what `keeps` says of a knob's decision, of the plan's own dispatcher.
void Keep(const ResolvedPlan& plan, bool (*keeps)(const ResolvedPlan&, Knob), ExecutionSearch* search) {
  const Candidate& base = search->base;
  ExecutionSpace* const space = &search->question.execution;
  const bool overlap = keeps(plan, K::overlap_moe_expert_parallel_comm);
  std::erase_if(space->exchanges, [&](const Exchange& exchange) {
    return exchange.dispatcher != base.dispatcher || (overlap && exchange.ep_overlap != base.ep_overlap);
  });
  if (keeps(plan, K::cuda_graph_impl)) space->graphs = {search->own_graphs};
}

// Faster by more than `errors` half-widths of the difference, and than `worth` of the step; or nearly so.
bool Gains(const StepForecast& plan, const StepForecast& other, double errors, double worth = kAsFast,
           double nearly = 0) {
  const StepEffect effect = EffectOf(plan, other);
  return effect.change < nearly - worth && effect.change + errors * (effect.high - effect.change) < nearly;
}

// Fits where the plan does not, or gains.
bool Better(const ResolvedPlan& plan, const ResolvedPlan& other, double room, double errors, double worth = kAsFast) {
  if (other.step == nullptr || !Launchable(other) || (room > 0 && MostMemory(other) > room)) return false;
  return !Launchable(plan) || Gains(plan.step->step, other.step->step, errors, worth);
}

// Above what no candidate is of use. `worth` and `errors`: as Gains takes them.
double LimitUs(const ResolvedPlan& plan, double worth = kAsFast, double errors = 0) {
  if (!Launchable(plan)) return std::numeric_limits<double>::max();
  return plan.step->step.us * (1 + std::min(-worth, LeastCertain(errors) + kRounding));
}

// Candidates that may gain so much. A combination of exchange and graphs without one would be refused and left out of
// the next try; where each is left out by itself, and there are as many tries, the search may do so at once.
OfUse Gaining(const ResolvedPlan& plan, double errors, const ExecutionSpace& space) {
  const auto is_none = [](const Graphs& graphs) { return graphs.impl == GraphImpl::kNone; };
  const bool one_by_one = space.graphs.size() == 1 || std::none_of(space.graphs.begin(), space.graphs.end(), is_none);
  if (errors == 0 || !Launchable(plan) || !one_by_one || space.exchanges.size() * space.graphs.size() > kMostTried) {
    return nullptr;
  }
  return [&plan, errors](const StepForecast& step) { return Gains(plan.step->step, step, errors, kAsFast, kRounding); };
}

// With the plan's own recompute where that is as fast: what need not change stays.
Candidate LeastChanged(const ResolvedPlan& plan, const ExecutionSearch& search, const FoundPlan& found) {
  const Candidate& best = found.candidate;
  const Candidate& base = search.base;
  if (best.recompute == base.recompute && best.recompute_modules == base.recompute_modules &&
      best.offload_layers == base.offload_layers) {
    return best;
  }
  SearchQuestion same = search.question;
  same.execution.recomputes = {{base.recompute, base.recompute_modules, base.offload_layers}};
  const std::optional<FoundPlan> kept =
      SearchExecutions(same, search.sizes, plan.step->stages, found.step.us * (1 + kAsFast));
  return kept.has_value() ? kept->candidate : best;
}

// The best that the search's space holds, where it is better than the plan by so many errors; whether there was one.
absl::StatusOr<bool> TakeBest(const NormalizedIntent& intent, const EvidenceSnapshot& evidence, double errors,
                              ExecutionSearch* search, ResolvedPlan* plan) {
  const double of_candidate = errors / kMarginOfACandidate;
  const OfUse of_use = Gaining(*plan, of_candidate, search->question.execution);
  for (int tries = 0; tries < kMostTried; ++tries) {
    const std::optional<FoundPlan> found = SearchExecutions(search->question, search->sizes, plan->step->stages,
                                                            LimitUs(*plan, kAsFast, of_candidate), of_use);
    if (!found.has_value()) break;
    // What the forecast of the candidate itself is far from is not made a whole answer of.
    if (errors == 0 || !Launchable(*plan) || Gains(plan->step->step, found->step, of_candidate)) {
      const GivenKnobs given = ExecutionKnobs(LeastChanged(*plan, *search, *found), plan->decided.config, plan->intent);
      NormalizedIntent asked = intent;
      GiveKnobs(given, &asked);
      FLIGHTPLAN_ASSIGN_OR_RETURN(ResolvedPlan tried, Resolve(std::move(asked), evidence));
      if (Better(*plan, tried, search->Room(), errors)) {
        TellAsDecided(*plan, given, &tried);
        *plan = std::move(tried);
        return true;
      }
    }
    if (!LeaveOut(found->candidate, &search->question.execution)) break;
  }
  return false;
}

// Leaves of the space what changes one decision alone, which evidence left to an A/B.
void KeepOthers(const Candidate& base, Knob knob, ExecutionSpace* space) {
  const bool graphs = knob == K::cuda_graph_impl;
  std::erase_if(space->exchanges, [&](const Exchange& exchange) {
    return exchange.dispatcher != base.dispatcher || (exchange.ep_overlap == base.ep_overlap) != graphs;
  });
  std::erase_if(space->graphs, [&](const Graphs& other) { return (other.impl == base.graphs) == graphs; });
}

// One round over the plan's own dispatcher: first what no evidence speaks of, then what evidence left to an A/B, each
// decision by itself, so that none changes by what another one gains. What it settles stays. `weighed`: knobs of which
// another value is known not to be better than the plan as it is.
absl::StatusOr<bool> WeighOnce(const NormalizedIntent& intent, const EvidenceSnapshot& evidence, double room,
                               std::vector<Knob>* weighed, ExecutionSearch* weighing, ResolvedPlan* plan) {
  ExecutionSearch& search = *weighing;
  Prepare(*plan, room, &search);
  Keep(*plan, Settled, &search);
  Keep(*plan, NeedsAb, &search);
  FLIGHTPLAN_ASSIGN_OR_RETURN(bool taken, TakeBest(intent, evidence, 0, &search, plan));
  if (taken) weighed->clear();
  bool prepared = !taken;  // of the plan as it is
  for (const Knob knob : {K::overlap_moe_expert_parallel_comm, K::cuda_graph_impl}) {
    if (!NeedsAb(*plan, knob) || std::find(weighed->begin(), weighed->end(), knob) != weighed->end()) continue;
    if (!prepared) Prepare(*plan, room, &search);
    prepared = true;
    search.question.execution = search.all;
    KeepOthers(search.base, knob, &search.question.execution);
    if (search.question.execution.size() == 0) continue;
    FLIGHTPLAN_ASSIGN_OR_RETURN(const bool clearly, TakeBest(intent, evidence, kErrorsOfAnAb, &search, plan));
    if (clearly) {
      weighed->clear();
      prepared = false;
    } else {
      weighed->push_back(knob);
    }
    taken = taken || clearly;
  }
  return taken;
}

// Until nothing changes: what goes with a choice, such as the optimizer that offload asks for, moves the next one.
// Leaves `search` as Prepare makes it of the plan.
absl::Status WeighSpace(const NormalizedIntent& intent, const EvidenceSnapshot& evidence, double room,
                        ExecutionSearch* search, ResolvedPlan* plan) {
  std::vector<Knob> weighed;
  for (int round = 0; round < kMostRounds && !Plainest(*plan); ++round) {
    FLIGHTPLAN_ASSIGN_OR_RETURN(const bool changed, WeighOnce(intent, evidence, room, &weighed, search, plan));
    if (changed) continue;
    search->question.execution = search->all;
    return absl::OkStatus();
  }
  Prepare(*plan, room, search);
  return absl::OkStatus();
}

// LoongForge computes parts of a layer again within the schedule of its EP overlap. Such recompute hangs on the
// overlap, so that no space of one beside the other holds it. `own`: as the plan is executed.
bool RecomputeWithinOverlapIsOpen(const NormalizedIntent& intent, const ResolvedPlan& plan, const Candidate& own) {
  constexpr Knob kOverlap = K::overlap_moe_expert_parallel_comm;
  const bool roomy = Launchable(plan) && own.recompute == RecomputeMode::kNone && own.optimizer_offload == 0;
  return StackOf(intent.env).fork && own.ep > 1 && !roomy && (own.recompute_modules & kDropWithinOverlap) == 0 &&
         plan.decided.config.origin(kOverlap) != Origin::kAbsent && !PinOf(intent, kOverlap).has_value() &&
         !PinOf(intent, K::recompute_granularity).has_value() && !Settled(plan, kOverlap) && !Plainest(plan);
}

// The space, and beside it the overlap with the recompute that the decisions make of it.
absl::Status WeighExecutions(const NormalizedIntent& intent, const EvidenceSnapshot& evidence, double room,
                             ExecutionSearch* search, ResolvedPlan* plan) {
  FLIGHTPLAN_RETURN_IF_ERROR(WeighSpace(intent, evidence, room, search, plan));
  if (!RecomputeWithinOverlapIsOpen(intent, *plan, search->base)) return absl::OkStatus();
  const GivenKnobs given = {{K::overlap_moe_expert_parallel_comm, Value(true)}};
  NormalizedIntent asked = intent;
  GiveKnobs(given, &asked);
  FLIGHTPLAN_ASSIGN_OR_RETURN(ResolvedPlan tried, Resolve(asked, evidence));
  if (Closed(tried)) return absl::OkStatus();
  ExecutionSearch within;
  FLIGHTPLAN_RETURN_IF_ERROR(WeighSpace(asked, evidence, room, &within, &tried));
  const double errors = NeedsAb(*plan, K::overlap_moe_expert_parallel_comm) ? kErrorsOfAnAb : 0;
  if (!Better(*plan, tried, within.Room(), errors)) return absl::OkStatus();
  TellAsDecided(*plan, given, &tried);
  *plan = std::move(tried);
  Prepare(*plan, room, search);
  return absl::OkStatus();
}

// Dispatchers that may take the place of the plan's own. A measurement leaves none. Recipes speak for flex against the
// all-to-all, and each of its backends is published: between these they settle nothing.
std::vector<Dispatcher> OtherDispatchers(const NormalizedIntent& intent, const ResolvedPlan& plan, Dispatcher own) {
  const Decision* const decision = FindDecision(plan.decided.decisions, K::moe_token_dispatcher_type);
  std::vector<Dispatcher> others = {Dispatcher::kAllToAll, Dispatcher::kDeepEp, Dispatcher::kHybridEp};
  std::erase(others, own);
  if (own == Dispatcher::kDeepEp &&
      !decide::HybridepMapFits(decide::ExtractFeatures(intent, std::nullopt, plan.decided.config))) {
    std::erase(others, Dispatcher::kHybridEp);
  }
  if (decision == nullptr || !IsSettled(*decision)) return others;
  if (decision->basis != Basis::kRecipes || own == Dispatcher::kAllToAll) return {};
  std::erase(others, Dispatcher::kAllToAll);
  return others;
}

// The decisions leave the TP overlap out beside a flex dispatcher alone (decide/dense_overlap.cc): without one it is
// there again, unless the caller speaks of it.
bool RegainsTensorOverlap(Dispatcher dispatcher, const ResolvedPlan& plan, const Candidate& base) {
  return IsFlex(base.dispatcher) && !IsFlex(dispatcher) && base.tp > 1 && base.sequence_parallel &&
         !PinOf(plan.intent, K::tp_comm_overlap).has_value();
}

// The best execution with this dispatcher, where it promises a shorter step than the plan's. What hangs on one flex
// backend hangs on the other.
std::optional<FoundPlan> SearchWith(Dispatcher dispatcher, const ResolvedPlan& plan, ExecutionSearch* prepared) {
  ExecutionSearch& search = *prepared;
  std::erase_if(search.question.execution.exchanges,
                [&](const Exchange& exchange) { return exchange.dispatcher != dispatcher; });
  if (search.question.execution.exchanges.empty()) return std::nullopt;
  const bool tp_overlap = search.base.tp_overlap;
  search.base.tp_overlap = tp_overlap || RegainsTensorOverlap(dispatcher, plan, search.base);
  const bool alike = IsFlex(dispatcher) && IsFlex(search.base.dispatcher);
  const std::vector<Graphs> graphs = search.question.execution.graphs;
  if (alike && Settled(plan, K::cuda_graph_impl)) search.question.execution.graphs = {search.own_graphs};
  const double promise = alike ? 1 : kPromise;
  std::optional<FoundPlan> found = SearchExecutions(search.question, search.sizes, plan.step->stages,
                                                    LimitUs(plan, alike ? kWorthABackend : kAsFast) * promise);
  search.question.execution.graphs = graphs;
  search.base.tp_overlap = tp_overlap;
  return found;
}

// What the forecast chose of the plan's overlap and graphs, and `tried` has otherwise, unsettled: beside another
// dispatcher its gain alone may fall short of what an A/B asks for, but the plan is executed so already.
GivenKnobs Carried(const ResolvedPlan& plan, const ResolvedPlan& tried) {
  GivenKnobs carried;
  for (const Knob knob : {K::overlap_moe_expert_parallel_comm, K::cuda_graph_impl}) {
    const Decision* const decision = FindDecision(plan.decided.decisions, knob);
    if (decision == nullptr || decision->rule_id != kExecutionDecision || Settled(tried, knob)) continue;
    const Value& value = plan.decided.config.Get(knob);
    if (tried.decided.config.Get(knob) != value) carried.emplace_back(knob, value);
  }
  return carried;
}

// Takes what the decisions make of these knobs in the plan's place, where it is better; whether it was. `carried`: what
// it might have of the plan.
absl::StatusOr<bool> TakeWith(const GivenKnobs& given, const NormalizedIntent& intent, const EvidenceSnapshot& evidence,
                              double room, ResolvedPlan* plan, GivenKnobs* carried) {
  NormalizedIntent asked = intent;
  GiveKnobs(given, &asked);
  FLIGHTPLAN_ASSIGN_OR_RETURN(ResolvedPlan tried, Resolve(asked, evidence));
  carried->clear();
  if (Closed(tried)) return false;
  ExecutionSearch search;
  FLIGHTPLAN_RETURN_IF_ERROR(WeighExecutions(asked, evidence, room, &search, &tried));
  *carried = Carried(*plan, tried);
  // What no evidence speaks for gives way to any gain: else it would be longer than without what it needs.
  const double worth = Settled(*plan, K::moe_token_dispatcher_type) ? kWorthABackend : 0;
  // The room is the tried plan's own: what its decisions take is what a caller who asks for the dispatcher gets.
  if (!Better(*plan, tried, search.Room(), 0, worth)) return false;
  TellAsDecided(*plan, given, &tried);
  *plan = std::move(tried);
  return true;
}

// Recipes that settle flex inside an NVLink domain have hybridep: for deepep in its place they do not speak.
bool ReopensAllToAll(const NormalizedIntent& intent, const ResolvedPlan& plan, Dispatcher was, Dispatcher now) {
  return was == Dispatcher::kHybridEp && now == Dispatcher::kDeepEp &&
         !decide::ExtractFeatures(intent, std::nullopt, plan.decided.config).ep_crosses_domain;
}

// Other dispatchers that are installed, each with what the decisions make of it.
absl::Status WeighDispatchers(const NormalizedIntent& intent, const EvidenceSnapshot& evidence, double room,
                              ExecutionSearch* prepared, ResolvedPlan* plan) {
  if (!intent.model.is_moe()) return absl::OkStatus();
  ExecutionSearch& search = *prepared;
  const std::vector<Exchange> all = search.question.execution.exchanges;
  std::vector<Dispatcher> others = OtherDispatchers(intent, *plan, search.base.dispatcher);
  for (size_t i = 0; i < others.size(); ++i) {
    search.question.execution.exchanges = all;
    const std::optional<FoundPlan> found = SearchWith(others[i], *plan, &search);
    if (!found.has_value()) continue;
    GivenKnobs given = DispatcherKnobs(found->candidate, plan->decided.config, intent), carried;
    FLIGHTPLAN_ASSIGN_OR_RETURN(bool taken, TakeWith(given, intent, evidence, room, plan, &carried));
    if (!carried.empty()) {
      given.insert(given.end(), carried.begin(), carried.end());
      FLIGHTPLAN_ASSIGN_OR_RETURN(const bool with_all, TakeWith(given, intent, evidence, room, plan, &carried));
      taken = taken || with_all;
    }
    if (!taken) continue;
    const auto open = [&](Dispatcher other) { return std::find(others.begin(), others.end(), other) != others.end(); };
    const Dispatcher was = search.base.dispatcher;
    if (!open(Dispatcher::kAllToAll) && ReopensAllToAll(intent, *plan, was, others[i])) {
      others.push_back(Dispatcher::kAllToAll);
    }
    // Beside what the forecast chose with the new one it may be better again.
    if (!open(was)) others.push_back(was);
    Prepare(*plan, room, &search);
  }
  return absl::OkStatus();
}

// Takes a faster execution in the plan's place.
absl::Status TakeFaster(const NormalizedIntent& intent, const EvidenceSnapshot& evidence, ResolvedPlan* plan) {
  for (const double room : kRooms) {
    ExecutionSearch search;
    FLIGHTPLAN_RETURN_IF_ERROR(WeighExecutions(intent, evidence, room, &search, plan));
    FLIGHTPLAN_RETURN_IF_ERROR(WeighDispatchers(intent, evidence, room, &search, plan));
    if (Launchable(*plan)) break;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ResolvedPlan> ExecuteLayout(const NormalizedIntent& intent, const EvidenceSnapshot& evidence) {
  absl::StatusOr<ResolvedPlan> plan = Resolve(intent, evidence);
  if (plan.ok() && !Closed(*plan)) {
    absl::Status status = TakeFaster(intent, evidence, &*plan);
    if (!status.ok()) plan = std::move(status);
  }
  return plan;  // the one return: the plan is made where the caller has it
}

}  // namespace flightplan
