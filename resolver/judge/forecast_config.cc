#include "resolver/judge/forecast_config.h"

#include <utility>

#include "resolver/derive/steady_passes.h"
#include "resolver/pipeline/apply_evidence.h"

namespace flightplan {

std::optional<StepModel> StepModelOf(const WeighedModel& model) { return StepModel::Make(model.intent, model.shape); }

double StepUs(const StepModel& model, const Candidate& candidate) {
  const std::optional<StepForecast> step = model.Forecast(candidate);
  return step.has_value() && step->is_finite() ? step->us : 0;
}

std::optional<ForecastedConfig> ForecastConfig(const WeighedModel& model, const RunResult& run,
                                               const EvidenceSnapshot* evidence, StageLayout* stages,
                                               std::vector<Finding>* findings) {
  const std::optional<StepModel> steps = StepModelOf(model);
  if (!steps.has_value()) return std::nullopt;
  KeepSteadyPasses(stages);
  const Candidate candidate = CandidateOf(model.config, run.env, steps->shape(), *stages);
  const std::optional<StepForecast> step = steps->Forecast(candidate);
  if (!step.has_value() || !step->is_finite()) return std::nullopt;
  StepOutlook outlook = OutlookOf(*step, std::nullopt);
  outlook.unmeasured = steps->Unmeasured(candidate);
  if (evidence != nullptr) ApplyStepEvidence(model.intent, model.config, *evidence, &outlook, findings);
  const Throughput throughput = ThroughputOf(*steps, candidate, run.env.target, *step, outlook);
  return ForecastedConfig{std::move(outlook), throughput};
}

}  // namespace flightplan
