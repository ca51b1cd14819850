// Finds the change to try next: of those that the walls of a plan's step suggest, the one with the best forecast that
// fits, that the target stack accepts and that is not known to fail in the field, with its expected effect. The order
// of work is fit, scale, profile, retune.
#pragma once

#include <optional>

#include "resolver/advise/move.h"
#include "resolver/estimate/step_model.h"
#include "resolver/plan/decision.h"
#include "resolver/plan/finding.h"
#include "resolver/plan/intent.h"

namespace flightplan {

// The finding that nothing goes at the wall which the profile tells of.
inline constexpr absl::string_view kNothingToTry = "decide.next-step-none";
// Why a next step is one to less memory.
inline constexpr absl::string_view kLacksMemory = "memory is what the plan lacks";

struct NextStep {
  Finding finding;
  std::optional<AbSuggestion> ab;  // both runs, where a change is worth one
};

// Nothing when no change of a knob is expected to gain.
std::optional<NextStep> FindNextStep(const NormalizedIntent& intent, const StepModel& model, const PlanForecast& plan,
                                     const StepOutlook& outlook);

// The expected effect of an A/B run from the forecast, where the evidence has none; where it has an interval alone, the
// forecast's within that.
void ExpectFromForecast(const StepModel& model, const PlanForecast& plan, AbSuggestion* ab);

}  // namespace flightplan
