// How a layout is executed with its own dispatcher: what the search holds against the decisions, taken where it is
// better.
#pragma once

#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "resolver/evidence/snapshot.h"
#include "resolver/layouts/execute_layout.h"
#include "resolver/layouts/execution_space.h"
#include "resolver/layouts/given_knobs.h"
#include "resolver/layouts/layout_search.h"
#include "resolver/pipeline/resolved_plan.h"
#include "resolver/planner/search.h"

namespace flightplan {

// What a joint search looks at; it points into itself.
struct ExecutionSearch {
  Candidate base;
  SearchQuestion question;
  LayoutSizes sizes;
  ExecutionSpace all;          // before anything was taken from the question's
  Graphs own_graphs;           // the base's
  GivenOffload given_offload;  // what of the base's is not weighed
  // What evidence settles stands.
  bool by_evidence = true;
  // A plan that was weighed here paid dearly for room: what took its place did without, and others may not.
  bool dear = false;

  double Room() const { return question.room * question.memory.capacity; }  // bytes; 0: not known
};

// Of a plan that has a step. `room`: share of the memory that an execution may fill.
void PrepareExecutions(const ResolvedPlan& plan, double room, ExecutionSearch* search);

// A bring-up asks for the plainest way: of a flex dispatcher, which is the caller's own word there, the backend alone
// is weighed; and what does not fit is given room, by recompute and offload alone.
bool Plainest(const ResolvedPlan& plan);

// A bring-up's dispatcher, unless that is flex, of whose backends each is as plain.
bool KeepsDispatcher(const ResolvedPlan& plan);

// Nothing to weigh: no forecast, or something that no execution mends.
bool NothingToWeigh(const ResolvedPlan& plan);

// Evidence settles this decision of the plan's.
bool Settled(const ResolvedPlan& plan, Knob knob);

// How a plan is executed.
struct PlansOwn {
  const Candidate& base;
  const Graphs& graphs;
};

// What the forecast chose of the plan's overlap and graphs, and `tried` has otherwise, unsettled: beside another
// dispatcher or split its gain alone may fall short of what an A/B asks for, but the plan is executed so already.
GivenKnobs Carried(const ResolvedPlan& plan, const ResolvedPlan& tried);

// Takes from the space what would change a decision of the plan's that stands: one that was left to an A/B, in a
// bring-up any, and `by_evidence` what evidence settles; and the exchanges of other dispatchers than these.
void KeepStanding(const ResolvedPlan& plan, const PlansOwn& own, absl::Span<const Dispatcher> dispatchers,
                  bool by_evidence, ExecutionSpace* space);

// Fits where the plan does not, or is faster: by more than `errors` half-widths of the difference, and than `worth` of
// the step. `room`: of one GPU, in bytes; 0: not known.
bool BetterExecuted(const ResolvedPlan& plan, const ResolvedPlan& other, double room, double errors,
                    double worth = kAsFast);

// Whether another forecast of a candidate gains as much as a choice must that evidence left to an A/B.
bool GainsByAb(const StepForecast& candidate, const StepForecast& other);

// Whether what the plan's evidence leaves to an A/B gains anything for sure, by the forecast of a candidate: at least
// half of what is asked for.
bool MayGainByAb(const ResolvedPlan& plan);

// Above what no candidate is of use. `worth` and `errors`: as BetterExecuted takes them.
double ExecutionLimitUs(const ResolvedPlan& plan, double worth = kAsFast, double errors = 0);

// Takes `tried`, which is the question with these knobs given, in the plan's place, and tells them as decided.
void TakeExecution(const GivenKnobs& given, ResolvedPlan&& tried, ResolvedPlan* plan);

// Takes what is better in the plan's place, apart from another dispatcher. Leaves `search` as PrepareExecutions makes
// it of the plan.
absl::Status WeighExecutions(const NormalizedIntent& intent, const EvidenceSnapshot& evidence, double room,
                             ExecutionSearch* search, ResolvedPlan* plan);

// Whether the other starts and comes clearly before it: by half of what is as fast.
bool RanksBefore(const ResolvedPlan& plan, const ResolvedPlan& other);

using AnswerTo = std::function<absl::StatusOr<ResolvedPlan>(const NormalizedIntent&)>;

// LoongForge computes parts of a layer again within the schedule of its EP overlap. A walk from a plan without comes to
// little of that: one that pays for room is held against the question with the overlap as the caller's word, as
// `answer` has it, and gives way where that ranks before it.
absl::Status WeighWithinOverlap(const NormalizedIntent& intent, const AnswerTo& answer, ResolvedPlan* plan);

// Gives the other side of an A/B of the EP overlap or of the graphs the recompute and offload that make room for it;
// false: nothing does.
bool MakeRoomForPair(const ResolvedPlan& plan, AbSuggestion* ab);

}  // namespace flightplan
