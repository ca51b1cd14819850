// The one thing to change next: of what the walls of a plan's step suggest, the change with the best forecast that fits
// and that the target stack accepts, with its expected effect. The order of work is fit, scale, profile, retune.
#pragma once

#include <optional>

#include "resolver/engine/settle.h"
#include "resolver/estimate/step_model.h"
#include "resolver/plan/decision.h"
#include "resolver/plan/finding.h"
#include "resolver/plan/intent.h"

namespace flightplan {

struct NextStep {
  Finding finding;
  std::optional<AbSuggestion> ab;  // both runs, where a change is worth one
};

// Nothing when no change of a knob is expected to gain.
std::optional<NextStep> FindNextStep(const NormalizedIntent& intent, const SettledPlan& settled, const StepModel& model,
                                     const StepForecast& now, const StepOutlook& outlook, const Environment& env);

// The expected effect of an A/B run from the forecast, where the evidence has none.
void ExpectFromForecast(const Config& plan, const StepModel& model, const StepForecast& now, const Environment& env,
                        AbSuggestion* ab);

}  // namespace flightplan
