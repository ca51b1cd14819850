#include "resolver/layouts/weigh_executions.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "resolver/base/status_macros.h"
#include "resolver/estimate/effect.h"
#include "resolver/estimate/estimate.h"
#include "resolver/layouts/plan_cautions.h"
#include "resolver/layouts/weigh_splits.h"
#include "resolver/pipeline/resolve.h"
#include "resolver/plan/stack.h"

namespace flightplan {
namespace {

using K = Knob;

constexpr Knob kOverlap = K::overlap_moe_expert_parallel_comm;
constexpr Knob kLeftToAnAb[] = {kOverlap, K::cuda_graph_impl};

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

// A bring-up stays as it was decided. Not where its decisions were short of room by the closed formulas, or had a
// rule's own fix make it: the forecast knows dearer and cheaper ways.
bool StaysPlain(const ResolvedPlan& plan) {
  const Decision* const recompute = FindDecision(plan.decided.decisions, K::recompute_granularity);
  const bool computes_again = recompute != nullptr && !recompute->value.is_none() &&
                              plan.decided.config.origin(K::recompute_granularity) == Origin::kDecided;
  return Plainest(plan) && Launchable(plan) && !computes_again && !PaysDearlyForRoom(CandidateOf(plan));
}

// Faster by more than `errors` half-widths of the difference, and than `worth` of the step; or nearly so.
bool Gains(const StepForecast& plan, const StepForecast& other, double errors, double worth = kAsFast,
           double nearly = 0) {
  const StepEffect effect = EffectOf(plan, other);
  return effect.change < nearly - worth && effect.change + errors * (effect.high - effect.change) < nearly;
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

bool NeedsAb(const ResolvedPlan& plan, Knob knob) {
  const Decision* const decision = FindDecision(plan.decided.decisions, knob);
  return decision != nullptr && decision->needs_ab;
}

}  // namespace

bool Plainest(const ResolvedPlan& plan) { return plan.intent.stage == Stage::kBringUp; }

void PrepareExecutions(const ResolvedPlan& plan, double room, ExecutionSearch* s) {
  const PlannedStep& step = *plan.step;
  const Config& config = plan.decided.config;
  const ModelShape& shape = step.model.shape();
  s->base = CandidateOf(plan);
  const Candidate& base = s->base;
  s->sizes = {base.tp, base.pp, base.vpp, base.cp, base.ep, base.etp, base.micro_batch_size};
  SearchQuestion& q = s->question;
  q.shape = &shape;
  q.work = &step.model.work();
  q.rates = step.model.rates();
  q.memory = MemoryOf(plan.intent.gpu);
  // What the decisions took is what they hold for enough.
  q.room = room;
  if (q.memory.capacity > 0 && Launchable(plan)) {
    q.room = std::max(room, RoomInPlaceOf(MostMemory(plan) / q.memory.capacity));
  }
  q.layout.gpus = base.gpus;
  q.layout.global_batch_size = base.global_batch_size;
  q.layout.seq_length = base.seq_length;
  q.layout.sequence_parallel = base.sequence_parallel;
  s->dear = s->dear || PaysDearlyForRoom(base);
  s->all = q.execution = ExecutionsOf(plan.intent, shape, config, base, s->dear);
  s->own_graphs = OwnGraphs(plan.intent, shape, config, base);
  s->given_offload = OffloadBeside(plan.intent, shape, config, base);
  q.base = [s](const LayoutSizes&) {
    Candidate c = s->base;
    c.offload_layers = s->given_offload.layers;
    c.offload_modules = s->given_offload.modules;
    return c;
  };
}

bool KeepsDispatcher(const ResolvedPlan& plan) {
  return Plainest(plan) && plan.decided.config.Get(K::moe_token_dispatcher_type).text() != "flex";
}

bool NothingToWeigh(const ResolvedPlan& plan) {
  if (plan.step == nullptr || (KeepsDispatcher(plan) && StaysPlain(plan))) return true;
  return std::any_of(plan.run.findings.begin(), plan.run.findings.end(), [](const Finding& finding) {
    return finding.severity == Severity::kError && finding.area != "fit";
  });
}

bool Settled(const ResolvedPlan& plan, Knob knob) {
  const Decision* const decision = FindDecision(plan.decided.decisions, knob);
  return decision != nullptr && IsSettled(*decision);
}

GivenKnobs Carried(const ResolvedPlan& plan, const ResolvedPlan& tried) {
  GivenKnobs carried;
  for (const Knob knob : kLeftToAnAb) {
    const Decision* const decision = FindDecision(plan.decided.decisions, knob);
    if (decision == nullptr || decision->rule_id != kExecutionDecision || Settled(tried, knob)) continue;
    const Value& value = plan.decided.config.Get(knob);
    if (tried.decided.config.Get(knob) != value) carried.emplace_back(knob, value);
  }
  return carried;
}

bool BetterExecuted(const ResolvedPlan& plan, const ResolvedPlan& other, double room, double errors, double worth) {
  if (other.step == nullptr || !Launchable(other) || (room > 0 && MostMemory(other) > room)) return false;
  return !Launchable(plan) || Gains(plan.step->step, other.step->step, errors, worth);
}

bool GainsByAb(const StepForecast& candidate, const StepForecast& other) {
  return Gains(candidate, other, kErrorsOfAnAb / kMarginOfACandidate);
}

double ExecutionLimitUs(const ResolvedPlan& plan, double worth, double errors) {
  if (!Launchable(plan)) return std::numeric_limits<double>::max();
  return plan.step->step.us * (1 + std::min(-worth, LeastCertain(errors) + kRounding));
}

void TakeExecution(const GivenKnobs& given, ResolvedPlan&& tried, ResolvedPlan* plan) {
  TellAsDecided(*plan, given, &tried);
  *plan = std::move(tried);
}

namespace {

// The decision stays as it is while what no evidence speaks of is weighed.
bool Stands(const ResolvedPlan& plan, Knob knob, bool by_evidence) {
  return Plainest(plan) || NeedsAb(plan, knob) || (by_evidence && Settled(plan, knob));
}

}  // namespace

void KeepStanding(const ResolvedPlan& plan, const PlansOwn& own, absl::Span<const Dispatcher> dispatchers,
                  bool by_evidence, ExecutionSpace* space) {
  const bool overlap = Stands(plan, K::overlap_moe_expert_parallel_comm, by_evidence);
  std::erase_if(space->exchanges, [&](const Exchange& exchange) {
    return std::find(dispatchers.begin(), dispatchers.end(), exchange.dispatcher) == dispatchers.end() ||
           (overlap && exchange.ep_overlap != own.base.ep_overlap);
  });
  if (Stands(plan, K::cuda_graph_impl, by_evidence)) space->graphs = {own.graphs};
}

namespace {

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
      best.offload_layers == base.offload_layers && best.offload_modules == base.offload_modules &&
      best.loss == base.loss) {
    return best;
  }
  SearchQuestion same = search.question;
  same.execution.recomputes = {RecomputeOf(base, search.given_offload)};
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
                                                            ExecutionLimitUs(*plan, kAsFast, of_candidate), of_use);
    if (!found.has_value()) break;
    // What the forecast of the candidate itself is far from is not made a whole answer of.
    if (errors == 0 || !Launchable(*plan) || Gains(plan->step->step, found->step, of_candidate)) {
      const GivenKnobs best = ExecutionKnobs(found->candidate, plan->decided.config, plan->intent);
      const GivenKnobs least = ExecutionKnobs(LeastChanged(*plan, *search, *found), plan->decided.config, plan->intent);
      // What is kept may be as fast as the best, and yet no longer enough of a gain.
      for (const GivenKnobs* const given : {&least, &best}) {
        if (given == &best && least == best) break;
        NormalizedIntent asked = intent;
        GiveKnobs(*given, &asked);
        FLIGHTPLAN_ASSIGN_OR_RETURN(ResolvedPlan tried, Resolve(std::move(asked), evidence));
        if (!BetterExecuted(*plan, tried, search->Room(), errors)) continue;
        TakeExecution(*given, std::move(tried), plan);
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
  PrepareExecutions(*plan, room, &search);
  KeepStanding(*plan, {search.base, search.own_graphs}, {search.base.dispatcher}, search.by_evidence,
               &search.question.execution);
  FLIGHTPLAN_ASSIGN_OR_RETURN(bool taken, TakeBest(intent, evidence, 0, &search, plan));
  if (taken) weighed->clear();
  bool prepared = !taken;  // of the plan as it is
  for (const Knob knob : kLeftToAnAb) {
    if (!NeedsAb(*plan, knob) || std::find(weighed->begin(), weighed->end(), knob) != weighed->end()) continue;
    if (!prepared) PrepareExecutions(*plan, room, &search);
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

}  // namespace

bool MayGainByAb(const ResolvedPlan& plan) {
  if (NothingToWeigh(plan)) return false;
  constexpr double kErrors = kErrorsOfAnAb / 2;  // the interval leaves out zero
  for (const Knob knob : kLeftToAnAb) {
    if (!NeedsAb(plan, knob)) continue;
    ExecutionSearch search;
    PrepareExecutions(plan, /*room=*/1, &search);
    KeepOthers(search.base, knob, &search.question.execution);
    if (search.question.execution.size() == 0) continue;
    const std::optional<FoundPlan> found =
        SearchExecutions(search.question, search.sizes, plan.step->stages, ExecutionLimitUs(plan, kAsFast, kErrors));
    if (found.has_value() && Gains(plan.step->step, found->step, kErrors)) return true;
  }
  return false;
}

namespace {

// The knobs in which the candidate is executed otherwise than the plan, apart from `knob` itself.
GivenKnobs ChangesBeside(Knob knob, const Candidate& candidate, const ResolvedPlan& plan) {
  const Config& config = plan.decided.config;
  GivenKnobs changes = ExecutionKnobs(candidate, config, plan.intent);
  std::erase_if(changes,
                [&](const auto& given) { return given.first == knob || config.Get(given.first) == given.second; });
  return changes;
}

void SetCompanion(GivenKnobs::value_type companion, AbSuggestion* ab) {
  std::erase_if(ab->companions, [&](const auto& other) { return other.first == companion.first; });
  ab->companions.push_back(std::move(companion));
}

// The fastest of what the search holds open, with the layers split otherwise; the layout's text is a companion then.
std::optional<FoundPlan> FindWithOtherSplit(const ResolvedPlan& plan, const ExecutionSearch& search, AbSuggestion* ab) {
  std::optional<FoundPlan> best;
  double limit_us = std::numeric_limits<double>::max();
  for (const StageLayout& split : OtherSplits(plan)) {
    std::optional<FoundPlan> found = SearchExecutions(search.question, search.sizes, split, limit_us);
    if (!found.has_value()) continue;
    limit_us = found->step.us;
    best = std::move(found);
    SetCompanion({K::pipeline_model_parallel_layout, LayoutTextOf(split, plan.step->model.shape().mtp_depths)}, ab);
  }
  return best;
}

// Whether the question with the overlap may have another recompute than the plan.
bool RecomputeWithinOverlapIsOpen(const NormalizedIntent& intent, const ResolvedPlan& plan) {
  const Config& config = plan.decided.config;
  if (!StackOf(intent.env).fork || plan.step == nullptr || config.origin(kOverlap) == Origin::kAbsent) return false;
  if (PinOf(intent, kOverlap).has_value() || PinOf(intent, K::recompute_granularity).has_value()) return false;
  const Candidate own = CandidateOf(plan);
  const bool roomy = Launchable(plan) && own.recompute == RecomputeMode::kNone && own.optimizer_offload == 0;
  // With the overlap by their own choice the decisions have made that recompute of it.
  const Decision* const overlap = FindDecision(plan.decided.decisions, kOverlap);
  const bool decided = own.ep_overlap && overlap != nullptr && overlap->rule_id != kExecutionDecision;
  return own.ep > 1 && !roomy && !decided && !Settled(plan, kOverlap) && !Plainest(plan);
}

}  // namespace

bool RanksBefore(const ResolvedPlan& plan, const ResolvedPlan& other) {
  if (other.step == nullptr || !Launchable(other)) return false;
  return !Launchable(plan) || RankedUs(other) < RankedUs(plan) * (1 - kAsFast / 2);
}

absl::Status WeighWithinOverlap(const NormalizedIntent& intent, const AnswerTo& answer, ResolvedPlan* plan) {
  if (!RecomputeWithinOverlapIsOpen(intent, *plan)) return absl::OkStatus();
  const GivenKnobs given = {{kOverlap, Value(true)}};
  NormalizedIntent asked = intent;
  GiveKnobs(given, &asked);
  FLIGHTPLAN_ASSIGN_OR_RETURN(ResolvedPlan tried, answer(asked));
  if (!RanksBefore(*plan, tried)) return absl::OkStatus();
  // Where the overlap was left to an A/B, by what that asks for.
  const bool clearly =
      !Launchable(*plan) || !NeedsAb(*plan, kOverlap) || Gains(plan->step->step, tried.step->step, kErrorsOfAnAb);
  if (clearly) TakeExecution(given, std::move(tried), plan);
  return absl::OkStatus();
}

bool MakeRoomForPair(const ResolvedPlan& plan, AbSuggestion* ab) {
  const bool weighed = ab->knob == K::overlap_moe_expert_parallel_comm || ab->knob == K::cuda_graph_impl;
  if (!weighed || plan.step == nullptr) return false;
  ExecutionSearch search{.dear = true};
  const double capacity = MemoryOf(plan.intent.gpu).capacity;
  PrepareExecutions(plan, capacity > 0 ? RoomOf(MostMemory(plan) / capacity) : kRoom, &search);
  KeepOthers(search.base, ab->knob, &search.question.execution);
  if (search.question.execution.size() == 0) return false;
  constexpr double kAny = std::numeric_limits<double>::max();
  std::optional<FoundPlan> found = SearchExecutions(search.question, search.sizes, plan.step->stages, kAny);
  if (!found.has_value() && !CutOf(plan).empty()) {  // the split was chosen for this side
    found = FindWithOtherSplit(plan, search, ab);
  }
  if (!found.has_value()) return false;
  for (auto& change : ChangesBeside(ab->knob, found->candidate, plan)) SetCompanion(std::move(change), ab);
  return true;
}

// Until nothing changes: what goes with a choice, such as the optimizer that offload asks for, moves the next one.
absl::Status WeighExecutions(const NormalizedIntent& intent, const EvidenceSnapshot& evidence, double room,
                             ExecutionSearch* search, ResolvedPlan* plan) {
  std::vector<Knob> weighed;
  for (int round = 0; round < kMostRounds && !StaysPlain(*plan); ++round) {
    FLIGHTPLAN_ASSIGN_OR_RETURN(const bool changed, WeighOnce(intent, evidence, room, &weighed, search, plan));
    if (changed) continue;
    search->question.execution = search->all;
    return absl::OkStatus();
  }
  PrepareExecutions(*plan, room, search);
  return absl::OkStatus();
}

}  // namespace flightplan
