#include "resolver/advise/advise.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "resolver/advise/next_pipeline.h"
#include "resolver/advise/next_precision.h"
#include "resolver/advise/next_step.h"
#include "resolver/derive/target_knobs.h"
#include "resolver/engine/engine.h"
#include "resolver/estimate/estimate.h"

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

KnobChanges ChangesOf(const AbSuggestion& ab) {
  KnobChanges changes = {{ab.knob, ab.other_value}};
  changes.insert(changes.end(), ab.companions.begin(), ab.companions.end());
  return changes;
}

// The plan's variables, with what is decided of them otherwise beside the other configuration.
EnvVars OtherVariables(const ResolvedPlan& plan, const Config& other) {
  std::optional<ModelShape> shape;
  if (plan.step != nullptr) shape = plan.step->model.shape();
  const EnvVars now = EnvironmentWith(plan.intent, shape, plan.decided.config);
  const EnvVars then = EnvironmentWith(plan.intent, shape, other);
  EnvVars vars = plan.decided.env;
  for (const auto& [name, value] : now) {
    if (then.find(name) == then.end()) vars.erase(name);
  }
  for (const auto& [name, value] : then) {
    const auto same = now.find(name);
    if (same == now.end() || same->second != value) vars[name] = value;
  }
  return vars;
}

// Makes the other run of each pair ready, and takes away the pairs whose other run would not start beside the rest of
// the plan: nobody need make them, and what was left to them stays as decided. Beside a plan that does not start itself
// there is nothing to compare.
void CompletePairs(ResolvedPlan* plan) {
  DecidedPlan& decided = plan->decided;
  if (!Launchable(*plan)) return decided.ab_suggestions.clear();
  std::erase_if(decided.ab_suggestions, [plan](AbSuggestion& ab) {
    const Config other = With(plan->decided.config, ChangesOf(ab));
    Environment env = plan->env;
    env.vars = ab.env = OtherVariables(*plan, other);
    // What goes with the change by itself may take a little more.
    const double capacity = MemoryOf(plan->intent.gpu).capacity;
    const auto fits = [&](const StepModel& model) {
      const MemoryForecast then = model.Memory(other, env, model.Stages(other));
      return capacity <= 0 || then.fullest.total.value <= std::max(kRoom * capacity, MostMemory(*plan));
    };
    const bool starts = (plan->step == nullptr || fits(plan->step->model)) &&
                        MayBeSuggested(WriteForTarget(other, env), env, plan->run.found, plan->run.findings);
    for (Decision& decision : plan->decided.decisions) {
      if (!starts && decision.knob == ab.knob && decision.env_var.empty()) decision.needs_ab = false;
    }
    return !starts;
  });
}

}  // namespace

void Advise(ResolvedPlan* plan) {
  CompletePairs(plan);
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
  if (known || !FlexBackendRuns(plan->intent, With(plan->decided.config, ChangesOf(*next->ab)))) return;
  next->ab->env = OtherVariables(*plan, With(plan->decided.config, ChangesOf(*next->ab)));
  pairs.push_back(*std::move(next->ab));
}

}  // namespace flightplan
