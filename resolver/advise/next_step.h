// Finds the change to try next: of those that the walls of a plan's step suggest, the one with the best forecast that
// fits, that the target stack accepts and that is not known to fail in the field, with its expected effect. The order
// of work is fit, scale, profile, retune.
#pragma once

#include <optional>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "resolver/estimate/step_model.h"
#include "resolver/plan/decision.h"
#include "resolver/plan/finding.h"
#include "resolver/plan/found.h"
#include "resolver/plan/intent.h"

namespace flightplan {

inline constexpr double kWorthARun = -0.02;  // repeated runs of one configuration differ by a per cent

struct NextStep {
  Finding finding;
  std::optional<AbSuggestion> ab;  // both runs, where a change is worth one
};

// A plan's own forecast, for comparison with others. `env` holds the variables that the plan exports.
struct PlanForecast {
  const Config& config;
  const Environment& env;
  const Found& found;
  const StageLayout& stages;
  const StepForecast& step;
  StepModel::Room room;
  absl::Span<const Decision> decisions;
  absl::Span<const Finding> findings;  // of the answer so far
};

// An empty one of the next step's kind, for what is seen and needed.
Finding NextStepFinding(absl::string_view source);

// Nothing when no change of a knob is expected to gain.
std::optional<NextStep> FindNextStep(const NormalizedIntent& intent, const StepModel& model, const PlanForecast& plan,
                                     const StepOutlook& outlook);

// The expected effect of an A/B run from the forecast, where the evidence has none.
void ExpectFromForecast(const StepModel& model, const PlanForecast& plan, AbSuggestion* ab);

}  // namespace flightplan
