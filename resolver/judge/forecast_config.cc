#include "resolver/judge/forecast_config.h"

#include <utility>

#include "resolver/derive/model_from_knobs.h"
#include "resolver/derive/shape.h"

namespace flightplan {

std::optional<ForecastBasis> BasisOfForecast(const std::optional<GpuSystem>& gpu, const RunResult& run) {
  if (!gpu.has_value() || !run.env.world_size.has_value()) return std::nullopt;
  auto model = ModelFromKnobs(run.config);
  if (!model.ok()) return std::nullopt;
  auto shape = MakeShape(*model, run.config);
  if (!shape.ok()) return std::nullopt;
  NormalizedIntent intent;
  intent.model = *std::move(model);
  intent.gpu = *gpu;
  intent.env = run.env;
  std::optional<StepModel> steps = StepModel::Make(intent, *std::move(shape));
  if (!steps.has_value()) return std::nullopt;
  StageLayout stages = steps->Stages(run.config);
  return ForecastBasis{*std::move(steps), std::move(stages)};
}

std::optional<ForecastedConfig> ForecastConfig(const std::optional<GpuSystem>& gpu, const RunResult& run) {
  const std::optional<ForecastBasis> basis = BasisOfForecast(gpu, run);
  if (!basis.has_value()) return std::nullopt;
  const StepModel& steps = basis->model;
  const StageLayout& stages = basis->stages;
  const std::optional<StepForecast> step = steps.Forecast(run.config, run.env, stages);
  if (!step.has_value() || !step->is_finite()) return std::nullopt;
  StepOutlook outlook = OutlookOf(*step, std::nullopt);
  const Candidate candidate = CandidateOf(run.config, run.env, steps.shape(), stages);
  const Throughput throughput = ThroughputOf(steps, candidate, run.env.target, *step, outlook);
  return ForecastedConfig{std::move(outlook), throughput};
}

}  // namespace flightplan
