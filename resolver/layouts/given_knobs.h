// Knobs that a search gives to the pipeline as words that stand, and the decisions that say so afterwards.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "resolver/derive/candidate.h"
#include "resolver/pipeline/resolved_plan.h"
#include "resolver/plan/config.h"
#include "resolver/plan/intent.h"

namespace flightplan {

using GivenKnobs = std::vector<std::pair<Knob, Value>>;

// The candidate's execution as knobs: dispatcher, EP overlap, CUDA graphs, recompute and the optimizer's offload, each
// where the caller left it open and the release of `config` has it.
GivenKnobs ExecutionKnobs(const Candidate& candidate, const Config& config, const NormalizedIntent& intent);

// Its dispatcher alone; and what makes room, recompute and the optimizer's offload.
GivenKnobs DispatcherKnobs(const Candidate& candidate, const Config& config, const NormalizedIntent& intent);
GivenKnobs RoomKnobs(const Candidate& candidate, const Config& config, const NormalizedIntent& intent);

void GiveKnobs(const GivenKnobs& knobs, NormalizedIntent* intent);

// The reason of a decision that a search took, where there is none to add.
inline constexpr char kLeftOpen[] = "left open: the search's choice";

// The decision about a knob, made where there is none.
Decision* DecisionOf(Knob knob, ResolvedPlan* plan);

// What was given for the caller becomes ours: the knob's origin, and with a rule its decision.
void MarkDecided(Knob knob, ResolvedPlan* plan);
void MarkDecided(Knob knob, absl::string_view rule, const std::string& reason, ResolvedPlan* plan);

// The knobs were given to the pipeline as words that stand; the caller did not say them. What is as it was in `before`
// keeps its decision, the others say what they gain.
void TellAsDecided(const ResolvedPlan& before, const GivenKnobs& given, ResolvedPlan* plan);

}  // namespace flightplan
