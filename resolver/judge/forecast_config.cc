#include "resolver/judge/forecast_config.h"

#include <utility>

#include "resolver/derive/steady_passes.h"
#include "resolver/pipeline/apply_evidence.h"

namespace flightplan {

namespace {

// Moved by reported runs, which `findings` then name.
StepOutlook MovedOutlook(const WeighedModel& model, const StepForecast& step, std::vector<Finding>* findings) {
  StepOutlook outlook = OutlookOf(step, std::nullopt);
  if (model.evidence != nullptr) ApplyStepEvidence(model.intent, model.config, *model.evidence, &outlook, findings);
  return outlook;
}

}  // namespace

std::optional<StepModel> StepModelOf(const WeighedModel& model) { return StepModel::Make(model.intent, model.shape); }

double StepUs(const StepModel& model, const Candidate& candidate) {
  const std::optional<StepForecast> step = model.Forecast(candidate);
  return step.has_value() && step->is_finite() ? step->us : 0;
}

double MovedStepUs(const WeighedModel& model, const Environment& env, const StageLayout& stages) {
  const std::optional<StepModel> steps = StepModelOf(model);
  if (!steps.has_value()) return 0;
  const std::optional<StepForecast> step = steps->Forecast(CandidateOf(model, env, stages));
  std::vector<Finding> named;  // by the answer itself
  return step.has_value() && step->is_finite() ? MovedOutlook(model, *step, &named).us : 0;
}

std::optional<ForecastedConfig> ForecastConfig(const WeighedModel& model, const RunResult& run, StageLayout* stages,
                                               std::vector<Finding>* findings) {
  const std::optional<StepModel> steps = StepModelOf(model);
  if (!steps.has_value()) return std::nullopt;
  KeepSteadyPasses(stages);
  const Candidate candidate = CandidateOf(model, run.env, *stages);
  const std::optional<StepForecast> step = steps->Forecast(candidate);
  if (!step.has_value() || !step->is_finite()) return std::nullopt;
  StepOutlook outlook = MovedOutlook(model, *step, findings);
  outlook.unmeasured = steps->Unmeasured(candidate);
  const Throughput throughput = ThroughputOf(*steps, candidate, run.env.target, *step, outlook);
  return ForecastedConfig{std::move(outlook), throughput};
}

}  // namespace flightplan
