#include "resolver/advise/advise.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "resolver/advise/next_step.h"

namespace flightplan {

void Advise(ResolvedPlan* plan) {
  if (plan->step == nullptr) return;
  const PlannedStep& at = *plan->step;
  const PlanForecast forecast{plan->decided.config,    plan->env,         plan->run.found, at.stages, at.step, at.room,
                              plan->decided.decisions, plan->run.findings};
  std::vector<AbSuggestion>& pairs = plan->decided.ab_suggestions;
  for (AbSuggestion& ab : pairs) ExpectFromForecast(at.model, forecast, &ab);
  std::optional<NextStep> next = FindNextStep(plan->intent, at.model, forecast, at.outlook);
  if (!next.has_value()) return;
  plan->run.findings.push_back(std::move(next->finding));
  if (!next->ab.has_value()) return;
  // A decision may have suggested the same run already.
  const bool known = std::any_of(pairs.begin(), pairs.end(), [&](const AbSuggestion& ab) {
    return ab.knob == next->ab->knob && ab.other_value == next->ab->other_value;
  });
  if (!known) pairs.push_back(*std::move(next->ab));
}

}  // namespace flightplan
