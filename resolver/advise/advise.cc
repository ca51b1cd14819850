#include "resolver/advise/advise.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "resolver/advise/next_pipeline.h"
#include "resolver/advise/next_precision.h"
#include "resolver/advise/next_step.h"

namespace flightplan {

namespace {

// By the caller, not by a search for what was left open.
bool StagesGiven(const ResolvedPlan& plan) {
  const NormalizedIntent& intent = plan.intent;
  const bool chosen = std::any_of(plan.chosen.begin(), plan.chosen.end(), [](const Assignment& size) {
    return size.knob == Knob::virtual_pipeline_model_parallel_size;
  });
  return (intent.layout.virtual_pipeline_model_parallel_size.has_value() && !chosen) ||
         intent.layout.pipeline_model_parallel_layout.has_value() ||
         std::any_of(intent.pins.begin(), intent.pins.end(), [](const auto& pin) {
           return pin.first == Knob::virtual_pipeline_model_parallel_size ||
                  pin.first == Knob::pipeline_model_parallel_layout;
         });
}

}  // namespace

void Advise(ResolvedPlan* plan) {
  if (plan->step == nullptr) return;
  const PlannedStep& at = *plan->step;
  const PlanForecast forecast{
      plan->decided.config,    plan->env,          plan->run.found, at.stages,         at.step, at.room,
      plan->decided.decisions, plan->run.findings, plan->chosen,    StagesGiven(*plan)};
  std::vector<AbSuggestion>& pairs = plan->decided.ab_suggestions;
  for (AbSuggestion& ab : pairs) ExpectFromForecast(at.model, forecast, &ab);
  std::optional<NextStep> next = FindNextStep(plan->intent, at.model, forecast, at.outlook);
  std::optional<Finding> pipeline = FindNextPipeline(plan->intent, at.model, forecast, at.outlook);
  std::optional<Finding> precision = FindNextPrecision(plan->intent, at.model, forecast);
  if (next.has_value()) plan->run.findings.push_back(std::move(next->finding));
  if (pipeline.has_value()) plan->run.findings.push_back(*std::move(pipeline));
  if (precision.has_value()) plan->run.findings.push_back(*std::move(precision));
  if (!next.has_value() || !next->ab.has_value()) return;
  // A decision may have suggested the same run already.
  const bool known = std::any_of(pairs.begin(), pairs.end(), [&](const AbSuggestion& ab) {
    return ab.knob == next->ab->knob && ab.other_value == next->ab->other_value;
  });
  if (!known) pairs.push_back(*std::move(next->ab));
}

}  // namespace flightplan
