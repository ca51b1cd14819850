#include "resolver/advise/advise.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "resolver/advise/next_pipeline.h"
#include "resolver/advise/next_precision.h"
#include "resolver/advise/next_step.h"
#include "resolver/derive/target_knobs.h"
#include "resolver/engine/engine.h"
#include "resolver/estimate/effect.h"
#include "resolver/estimate/estimate.h"

namespace flightplan {

namespace {

// By the caller, not by a search for what was left open.
bool StagesGiven(const ResolvedPlan& plan) {
  const NormalizedIntent& intent = plan.intent;
  const auto chosen = [&](Knob knob) {
    return std::any_of(plan.chosen.begin(), plan.chosen.end(),
                       [knob](const Assignment& size) { return size.knob == knob; });
  };
  constexpr Knob kStages = Knob::virtual_pipeline_model_parallel_size, kSplit = Knob::pipeline_model_parallel_layout;
  return (intent.layout.virtual_pipeline_model_parallel_size.has_value() && !chosen(kStages)) ||
         (intent.layout.pipeline_model_parallel_layout.has_value() && !chosen(kSplit)) ||
         std::any_of(intent.pins.begin(), intent.pins.end(),
                     [](const auto& pin) { return pin.first == kStages || pin.first == kSplit; });
}

// The variables that the other run of a pair exports: the plan's, with what is decided of them otherwise beside the
// other configuration.
class OtherVariables {
 public:
  explicit OtherVariables(const ResolvedPlan& plan) : plan_(plan) {
    if (plan.step != nullptr) shape_ = plan.step->model.shape();
    now_ = EnvironmentWith(plan.intent, shape_, plan.decided.config);
  }
  EnvVars Of(const Config& other) const {
    const EnvVars then = EnvironmentWith(plan_.intent, shape_, other);
    EnvVars vars = plan_.decided.env;
    for (const auto& [name, value] : now_) {
      if (then.find(name) == then.end()) vars.erase(name);
    }
    for (const auto& [name, value] : then) {
      const auto same = now_.find(name);
      if (same == now_.end() || same->second != value) vars[name] = value;
    }
    return vars;
  }

 private:
  const ResolvedPlan& plan_;
  std::optional<ModelShape> shape_;
  EnvVars now_;
};

void LeaveAsDecided(Knob knob, ResolvedPlan* plan) {
  for (Decision& decision : plan->decided.decisions) {
    if (decision.knob == knob && decision.env_var.empty()) decision.needs_ab = false;
  }
}

// Makes the other run of each pair ready, and takes away the pairs whose other run would not start beside the rest of
// the plan: nobody need make them, and what was left to them stays as decided. Beside a plan that does not start itself
// there is nothing to compare.
void CompletePairs(const MakeRoom& make_room, ResolvedPlan* plan) {
  std::vector<AbSuggestion>& pairs = plan->decided.ab_suggestions;
  if (!Launchable(*plan)) pairs.clear();
  if (pairs.empty()) return;
  const OtherVariables variables(*plan);
  const double capacity = MemoryOf(plan->intent.gpu).capacity;
  // As the last look has it at executions, which leaves the choice to a pair.
  const double room = capacity > 0 ? capacity * RoomOf(MostMemory(*plan) / capacity) : capacity;
  std::erase_if(pairs, [&](AbSuggestion& ab) {
    Environment env = plan->env;
    Config other;
    const auto read = [&] {
      other = With(plan->decided.config, WithPrecisionRecipe(ChangesOf(ab), plan->decided.config, plan->env));
      env.vars = variables.Of(other);
    };
    read();
    const auto fits = [&] {
      if (plan->step == nullptr || capacity <= 0) return true;
      const StepModel& model = plan->step->model;
      return model.Memory(other, env, model.Stages(other)).fullest.total.value <= room;
    };
    bool starts = fits();
    if (!starts && make_room(&ab)) {
      read();
      starts = fits();
    }
    ab.env = env.vars;
    starts = starts && MayBeSuggested(WriteForTarget(other, env), env, plan->run.found, plan->run.findings, ab.knob);
    if (!starts) LeaveAsDecided(ab.knob, plan);
    return !starts;
  });
}

// What was published of other runs keeps EP overlap off inside an NVLink domain; the forecast of this run stands beside
// it, so that a comparison of both answers tells nothing else. Where it speaks for the overlap, a run of both decides.
void SayForecastOfOverlap(const StepModel& model, const PlanForecast& forecast, ResolvedPlan* plan) {
  std::vector<Decision>& decisions = plan->decided.decisions;
  const auto decision = std::find_if(decisions.begin(), decisions.end(), IsOverlapKeptInside);
  if (decision == decisions.end()) return;
  AbSuggestion pair{.knob = decision->knob, .plan_value = false, .other_value = true};
  CompleteOtherSide(plan->intent, plan->decided.config, &pair);
  const KnobChanges changes = ChangesOf(pair);
  const std::optional<StepForecast> then = ForecastWith(model, forecast, changes);
  if (!then.has_value() || !MayBeTried(forecast, changes)) return;
  const StepEffect effect = EffectOf(forecast.step, *then);
  absl::StrAppendFormat(&decision->reason, "; the forecast of this run with it: step %+.0f %% (%+.0f..%+.0f)",
                        WholePercent(effect.change), WholePercent(effect.low), WholePercent(effect.high));
  if (effect.change >= kWorthARun) return;
  decision->needs_ab = true;
  pair.reason = decision->reason;
  pair.expected = effect.change;
  pair.low = effect.low;
  pair.high = std::max(effect.high, kMostLostByOverlap);
  plan->decided.ab_suggestions.push_back(std::move(pair));
}

// A next step to less memory is a change of the plan as it is; the fix that is offered is what the whole answer to it
// comes to, and may cost less of the step.
bool FixCostsLess(const ResolvedPlan& plan, const AbSuggestion& step) {
  return step.reason == kLacksMemory && plan.roomier_us > 0 && plan.roomier_us <= plan.step_us() * (1 + step.expected);
}

// Of the step: a pair whose other run is forecast to lose as much, with all that it needs, is not worth making.
constexpr double kNoUse = 0.05;

}  // namespace

void Advise(ResolvedPlan* plan, const MakeRoom& make_room) {
  if (plan->step == nullptr) return CompletePairs(make_room, plan);
  const PlannedStep& at = *plan->step;
  const PlanForecast forecast{
      plan->decided.config,    plan->env,          plan->run.found, at.stages,         at.step, at.room,
      plan->decided.decisions, plan->run.findings, plan->chosen,    StagesGiven(*plan)};
  SayForecastOfOverlap(at.model, forecast, plan);
  CompletePairs(make_room, plan);
  std::vector<AbSuggestion>& pairs = plan->decided.ab_suggestions;
  for (AbSuggestion& ab : pairs) ExpectFromForecast(at.model, forecast, &ab);
  std::erase_if(pairs, [&](const AbSuggestion& ab) {
    if (ab.expected <= kNoUse) return false;
    LeaveAsDecided(ab.knob, plan);
    return true;
  });
  std::optional<NextStep> next = FindNextStep(plan->intent, at.model, forecast, at.outlook);
  if (next.has_value() && next->ab.has_value() && FixCostsLess(*plan, *next->ab)) next.reset();
  // What does not start has other steps before it than to a faster run.
  std::optional<Finding> pipeline, precision;
  if (Launchable(*plan)) {
    pipeline = FindNextPipeline(plan->intent, at.model, forecast, at.outlook);
    precision = FindNextPrecision(plan->intent, at.model, forecast);
  }
  const bool idle = next.has_value() && next->finding.rule_id == kNothingToTry;
  if (next.has_value() && !(idle && pipeline.has_value())) plan->run.findings.push_back(std::move(next->finding));
  if (pipeline.has_value()) plan->run.findings.push_back(*std::move(pipeline));
  if (precision.has_value()) plan->run.findings.push_back(*std::move(precision));
  if (!next.has_value() || !next->ab.has_value()) return;
  // A decision may have suggested the same run already.
  const bool known = std::any_of(pairs.begin(), pairs.end(), [&](const AbSuggestion& ab) {
    return ab.knob == next->ab->knob && ab.other_value == next->ab->other_value;
  });
  if (known) return;
  next->ab->env = OtherVariables(*plan).Of(With(plan->decided.config, ChangesOf(*next->ab)));
  pairs.push_back(*std::move(next->ab));
}

}  // namespace flightplan
