#include "resolver/layouts/last_look.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "resolver/base/status_macros.h"
#include "resolver/estimate/estimate.h"
#include "resolver/layouts/execute_layout.h"
#include "resolver/layouts/execution_space.h"
#include "resolver/layouts/given_knobs.h"
#include "resolver/layouts/other_dispatchers.h"
#include "resolver/layouts/plan_cautions.h"
#include "resolver/layouts/weigh_executions.h"
#include "resolver/layouts/weigh_splits.h"
#include "resolver/pipeline/resolve.h"

namespace flightplan {
namespace {

using K = Knob;

// What another execution must gain: more where it fills more memory. Half of what is as fast, since what another
// question ends with may be as far off the best as this one.
constexpr double kWorthTaking = kAsFast / 2;
// Each look is at what is open beside the plan that the last one took.
constexpr int kMostLooks = 3;
// Executions that go through the whole pipeline, whose decisions may settle what goes with one otherwise.
constexpr size_t kMostTried = 6;

double LimitUs(const ResolvedPlan& plan) { return RankedUs(plan) * (1 - kWorthTaking); }

// Off by an estimate alone, which is of the room that it takes.
bool OverlapIsLeftOut(const ResolvedPlan& plan) {
  const Decision* const overlap = FindDecision(plan.decided.decisions, K::overlap_moe_expert_parallel_comm);
  return overlap != nullptr && overlap->basis == Basis::kEstimate && !overlap->needs_ab && !overlap->value.truthy();
}

// Whether memory is short: the plan leaves no room, or pays for it with the EP overlap, or with more than what costs
// next to nothing to compute again.
bool IsShort(const ResolvedPlan& plan) {
  const Candidate own = CandidateOf(plan);
  if (LeavesNoRoom(plan) || own.optimizer_offload > 0) return true;
  if (own.recompute == RecomputeMode::kNone) return false;
  if (OverlapIsLeftOut(plan)) return true;
  // Beside experts a dense MLP is that of a few layers.
  const unsigned cheap = kDropMlaUpProj | kDropLight | (plan.intent.model.is_moe() ? unsigned{kDropMlp} : 0U);
  return own.recompute != RecomputeMode::kSelective || (own.recompute_modules & ~cheap) != 0;
}

// The plan's own dispatcher, and those that may take its place.
std::vector<Dispatcher> OpenDispatchers(const NormalizedIntent& intent, const ResolvedPlan& plan, Dispatcher own) {
  std::vector<Dispatcher> open;
  if (intent.model.is_moe() && !KeepsDispatcher(plan)) open = OtherDispatchers(intent, plan, own);
  open.push_back(own);
  return open;
}

constexpr char kNoneWithOverlap[] = "weighed together by the forecast: nothing with it that fits is faster";

// Why the EP overlap is off hangs on the virtual stages: of others the decision is made anew, beside all that the plan
// was given.
absl::Status TellOverlapAnew(GivenKnobs given, const EvidenceSnapshot& evidence, ResolvedPlan* plan) {
  constexpr K kOverlap = K::overlap_moe_expert_parallel_comm;
  const Decision* const kept = FindDecision(plan->decided.decisions, kOverlap);
  if (kept == nullptr || kept->value.truthy() || kept->rule_id == kExecutionDecision) return absl::OkStatus();
  std::erase_if(given, [](const auto& knob) { return knob.first == kOverlap; });
  NormalizedIntent asked = plan->intent;
  GiveKnobs(given, &asked);
  FLIGHTPLAN_ASSIGN_OR_RETURN(const ResolvedPlan anew, Resolve(std::move(asked), evidence));
  const Decision* const decided = FindDecision(anew.decided.decisions, kOverlap);
  Decision* const told = DecisionOf(kOverlap, plan);
  if (decided != nullptr && decided->value == told->value) {
    *told = *decided;
  } else {
    told->rule_id = kExecutionDecision;
    told->basis = Basis::kEstimate;
    told->reason = kNoneWithOverlap;
    told->citations.clear();
  }
  return absl::OkStatus();
}

// What was found, made whole answers of, first the best: takes the first that ranks before the plan; whether there was
// one. `stages`: each has its own number of virtual stages.
absl::StatusOr<bool> TakeFirstBefore(const NormalizedIntent& intent, const EvidenceSnapshot& evidence, bool stages,
                                     std::vector<FoundPlan> found, ResolvedPlan* plan) {
  std::stable_sort(found.begin(), found.end(), [](const FoundPlan& a, const FoundPlan& b) {
    return a.step.us * a.caution < b.step.us * b.caution;
  });
  if (found.size() > kMostTried) found.resize(kMostTried);
  const int64_t mtp_depths = plan->step->model.shape().mtp_depths;
  for (const FoundPlan& one : found) {
    const GivenKnobs given = ExecutionKnobs(one.candidate, plan->decided.config, intent);
    NormalizedIntent asked = intent;
    const bool cut = stages && one.split > 0;
    if (stages) asked.layout.virtual_pipeline_model_parallel_size = one.sizes.vpp;
    if (cut) asked.layout.pipeline_model_parallel_layout = LayoutTextOf(*one.candidate.stages, mtp_depths);
    if (!stages) GiveCut(*plan, &asked);
    GiveKnobs(given, &asked);
    FLIGHTPLAN_ASSIGN_OR_RETURN(ResolvedPlan tried, Resolve(std::move(asked), evidence));
    if (tried.step == nullptr || !Launchable(tried)) continue;
    const double worth = MostMemory(tried) > MostMemory(*plan) ? kAsFast : kWorthTaking;
    if (RankedUs(tried) >= RankedUs(*plan) * (1 - worth)) continue;
    if (cut || (!stages && !CutOf(*plan).empty())) TellCut(*plan, &tried);
    const bool other_stages = CandidateOf(*plan).vpp != CandidateOf(tried).vpp;
    TakeExecution(given, std::move(tried), plan);
    if (other_stages) FLIGHTPLAN_RETURN_IF_ERROR(TellOverlapAnew(given, evidence, plan));
    return true;
  }
  return false;
}

// In a room the memory counts for what it does where all of it is filled.
CautionContext CautionsIn(double room, const NormalizedIntent& intent) {
  CautionContext context = CautionContextOf(intent);
  context.memory = MemoryCaution(room);
  return context;
}

// What is open beside a plan, all of it together.
struct Look {
  ExecutionSearch search{.dear = true};
  std::vector<Dispatcher> dispatchers;
  std::vector<Exchange> exchanges;

  // Gives the search the room; the step, in microseconds, below which an execution there ranks clearly before the plan.
  double Enter(double room, const NormalizedIntent& intent, const ResolvedPlan& plan) {
    search.question.room = room;
    search.question.caution = CautionsIn(room, intent);
    return LimitUs(plan) / (1 + CautionRatio(search.sizes, *search.question.caution));
  }
};

void PrepareLook(const NormalizedIntent& intent, const ResolvedPlan& plan, Look* look) {
  ExecutionSearch& search = look->search;
  PrepareExecutions(plan, /*room=*/1, &search);
  ExecutionSpace& space = search.question.execution;
  look->dispatchers = OpenDispatchers(intent, plan, search.base.dispatcher);
  KeepStanding(plan, {search.base, search.own_graphs}, look->dispatchers, /*by_evidence=*/true, &space);
  if (Plainest(plan)) {  // of a flex dispatcher that the caller asks for, each backend is as plain
    space.recomputes = {RecomputeOf(search.base, search.given_offload)};
    space.optimizer_offloads = {search.base.optimizer_offload};
  }
  look->exchanges = space.exchanges;
  std::erase_if(look->dispatchers, [&](Dispatcher dispatcher) {
    return std::none_of(look->exchanges.begin(), look->exchanges.end(),
                        [&](const Exchange& exchange) { return exchange.dispatcher == dispatcher; });
  });
}

// Whether anything is faster that is open, with whatever a dispatcher brings back: a bound for all of them.
bool AnyFaster(const ResolvedPlan& plan, const StageLayout& stages, double limit_us, Look* look) {
  return SearchBeside(look->dispatchers, plan, stages, limit_us, &look->search).has_value();
}

std::vector<FoundPlan> FindExecutions(const NormalizedIntent& intent, const ResolvedPlan& plan) {
  Look look;
  PrepareLook(intent, plan, &look);
  ExecutionSearch& search = look.search;
  // What fills more ranks so much lower that seldom anything is fast enough.
  const double tight_us = look.Enter(kTightRoom, intent, plan);
  search.question.room = 1;
  const bool fuller = AnyFaster(plan, plan.step->stages, tight_us, &look);
  std::vector<FoundPlan> found;
  for (const double room : kRooms) {
    if (room > kRoom && !fuller) break;
    const double limit_us = look.Enter(room, intent, plan);
    if (look.dispatchers.size() > 1 && !AnyFaster(plan, plan.step->stages, limit_us, &look)) {
      continue;
    }
    for (const Dispatcher dispatcher : look.dispatchers) {
      search.question.execution.exchanges = look.exchanges;
      std::optional<FoundPlan> one = SearchWith(dispatcher, plan, limit_us, &search);
      if (one.has_value()) found.push_back(*std::move(one));
    }
    search.question.execution.exchanges = look.exchanges;
  }
  return found;
}

absl::Status TakeWhatRanksBefore(const NormalizedIntent& intent, const EvidenceSnapshot& evidence, ResolvedPlan* plan) {
  for (int look = 0; look < kMostLooks; ++look) {
    FLIGHTPLAN_ASSIGN_OR_RETURN(
        const bool taken, TakeFirstBefore(intent, evidence, /*stages=*/false, FindExecutions(intent, *plan), plan));
    if (!taken) break;
  }
  return absl::OkStatus();
}

// Whether another split of the layers may make a step that ranks clearly before the plan's: with each of the modules
// that need not be computed again there for want of room, all of them at once.
bool MayComputeLess(const ResolvedPlan& plan) {
  const StepModel& model = plan.step->model;
  const double capacity = MemoryOf(plan.intent.gpu).capacity;
  const double limit_us = plan.step_us() * (1 - kWorthTaking);
  const Candidate own = CandidateOf(plan);
  if (own.recompute == RecomputeMode::kNone) return false;
  std::map<unsigned, LayerTimes> timed;  // by what is computed again
  Candidate less = own;
  const auto compute_again = [&less](unsigned modules) {
    less.recompute = modules == 0 ? RecomputeMode::kNone : RecomputeMode::kSelective;
    less.recompute_modules = static_cast<uint16_t>(modules);
  };
  const auto faster_with = [&](unsigned modules) {
    compute_again(modules);
    auto times = timed.find(modules);
    if (times == timed.end()) times = timed.emplace(modules, TimeLayers(model.work(), less, model.rates())).first;
    StepForecast step;
    return StepUsBelow(limit_us, model.work(), less, model.rates(), times->second, &step) < limit_us;
  };
  const auto fits_without = [&](unsigned module) {
    compute_again(own.recompute_modules & ~module);
    return model.Memory(less).fullest.total.value <= kRoom * capacity;
  };
  for (const StageLayout& split : OtherSplits(plan)) {
    less.stages = &split;
    if (!faster_with(0)) continue;
    unsigned needed = own.recompute_modules;
    for (unsigned left = own.recompute_modules; left != 0; left &= left - 1) {
      const unsigned module = left & ~(left - 1);
      if (fits_without(module)) needed &= ~module;
    }
    if (needed == 0 || faster_with(needed)) return true;
  }
  return false;
}

}  // namespace

std::vector<bool> MayRankBefore(const NormalizedIntent& intent, const ResolvedPlan& plan,
                                absl::Span<const StageLayout> stages) {
  Look look;
  PrepareLook(intent, plan, &look);
  std::vector<bool> may(stages.size(), false);
  for (const double room : kRooms) {
    const double limit_us = look.Enter(room, intent, plan);
    for (size_t i = 0; i < stages.size(); ++i) {
      may[i] = may[i] || AnyFaster(plan, stages[i], limit_us, &look);
    }
  }
  return may;
}

absl::Status LookAtExecutions(const NormalizedIntent& intent, const EvidenceSnapshot& evidence, ResolvedPlan* plan) {
  if (!Launchable(*plan) || !IsShort(*plan)) return absl::OkStatus();
  return TakeWhatRanksBefore(intent, evidence, plan);
}

absl::Status LookAtStages(const NormalizedIntent& intent, const EvidenceSnapshot& evidence, VirtualStageSearch* search,
                          ResolvedPlan* plan) {
  for (int look = 0; look < kMostLooks && Launchable(*plan) && !Plainest(*plan); ++look) {
    ExecutionSpace* const space = search->Open(*plan);
    if (space == nullptr) break;
    const Candidate own = CandidateOf(*plan);
    const Graphs graphs = OwnGraphs(plan->intent, plan->step->model.shape(), plan->decided.config, own);
    KeepStanding(*plan, {own, graphs}, OpenDispatchers(intent, *plan, own.dispatcher), /*by_evidence=*/true, space);
    if (space->size() == 0) break;
    std::vector<FoundPlan> found;
    for (const double room : kRooms) {
      for (FoundPlan& one : search->Before(LimitUs(*plan), room)) found.push_back(std::move(one));
    }
    FLIGHTPLAN_ASSIGN_OR_RETURN(const bool taken,
                                TakeFirstBefore(intent, evidence, /*stages=*/true, std::move(found), plan));
    if (!taken) break;
    // What goes with another dispatcher is known of given stages alone.
    NormalizedIntent given = intent;
    given.layout.virtual_pipeline_model_parallel_size = CandidateOf(*plan).vpp;
    FLIGHTPLAN_RETURN_IF_ERROR(TakeWhatRanksBefore(given, evidence, plan));
  }
  return absl::OkStatus();
}

absl::Status LookAtSplits(const NormalizedIntent& intent, const EvidenceSnapshot& evidence, ResolvedPlan* plan) {
  // Another split may leave the room for what is computed again.
  if (!Launchable(*plan) || (!IsShort(*plan) && !MayComputeLess(*plan))) return absl::OkStatus();
  NormalizedIntent asked = intent;
  asked.layout.virtual_pipeline_model_parallel_size = CandidateOf(*plan).vpp;
  VirtualStageSearch search = VirtualStageSearch::OfSplits(asked);
  FLIGHTPLAN_RETURN_IF_ERROR(LookAtStages(asked, evidence, &search, plan));
  plan->intent.layout = intent.layout;
  return absl::OkStatus();
}

}  // namespace flightplan
