#include "resolver/pipeline/forecast_run.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "resolver/base/status_macros.h"
#include "resolver/derive/placement.h"
#include "resolver/derive/start_config.h"
#include "resolver/estimate/effect.h"
#include "resolver/estimate/estimate.h"
#include "resolver/estimate/step_model.h"
#include "resolver/pipeline/apply_evidence.h"
#include "resolver/rules/decide/decide.h"

namespace flightplan {
namespace {

// A value this far from the forecast is in another unit, not from another machine.
constexpr double kOtherUnit = 100;

struct Forecasts {
  Config config;
  std::optional<StepForecast> step;
  std::optional<Band> memory;
};

absl::StatusOr<Forecasts> ForecastOf(const NormalizedIntent& intent) {
  Forecasts out;
  DerivedPlan derived = Derive(intent);
  DecidedPlan decided = Decide(intent, derived);
  Environment env = intent.env;
  env.vars = decided.env;
  const Placement placement = PlaceLayout(decided.config, intent.env);
  const EstimatedPlan estimate =
      Estimate(intent, derived.shape, placement, decided.config, decided.env, decided.stages);
  if (!estimate.stages.empty()) out.memory = estimate.stages[estimate.fullest].total;
  if (const auto model = StepModel::Make(intent, std::move(derived.shape)); model.has_value()) {
    out.step = model->Forecast(decided.config, env, model->Stages(decided.config));
    if (out.step.has_value() && !out.step->is_finite()) {
      return absl::InternalError("the forecast of the measured run is no number");
    }
  }
  out.config = std::move(decided.config);
  return out;
}

void SetForecast(const Band& band, MeasuredRun* out) {
  out->has_forecast = band.value > 0 || out->metric == Metric::kAbChange;
  out->forecast = band.value;
  out->forecast_low = band.low;
  out->forecast_high = band.high;
}

double PeakFlops(const GpuSystem& gpu) {
  return std::max({gpu.bf16_flops_per_second.value_or(0), gpu.fp8_flops_per_second.value_or(0),
                   gpu.fp4_flops_per_second.value_or(0)});
}

// What no machine does, and what a forecast is never off by.
void CheckAgainstForecast(const NormalizedIntent& intent, const Forecasts& forecasts, const MeasuredRun& run,
                          double value, std::vector<ReportFault>* faults) {
  const double hbm = static_cast<double>(intent.gpu.hbm_bytes.value_or(0));
  if (run.metric == Metric::kMemoryPeak && hbm > 0 && value > 1.1 * hbm) {
    faults->push_back(
        {"value", absl::StrFormat("%.4g bytes are more than one %s has (%.4g); the peak of one GPU is asked for", value,
                                  intent.gpu.name, hbm)});
  }
  if (run.metric == Metric::kStepTime && forecasts.step.has_value()) {
    const double peak = PeakFlops(intent.gpu) * static_cast<double>(intent.gpu_count);
    const double ratio = peak > 0 ? forecasts.step->model_flops / (value * 1e-6) / peak : 0;
    if (ratio > 1) {
      faults->push_back(
          {"value", absl::StrFormat("%.4g us a step would be %.0f %% of the GPUs' peak; microseconds of one "
                                    "whole step (a global batch) are asked for",
                                    value, 100 * ratio)});
    }
  }
  if (run.metric == Metric::kAbChange || !run.has_forecast) return;
  const double off = value / run.forecast;
  if (off > kOtherUnit || off < 1 / kOtherUnit) {
    faults->push_back(
        {"value", absl::StrFormat("%.4g is %.3g times the forecast of %.4g; is it in %s?", value, off, run.forecast,
                                  run.metric == Metric::kStepTime ? "microseconds" : "bytes")});
  }
}

void CheckGrid(const RunLayout& layout, int64_t gpus, std::vector<ReportFault>* faults) {
  const int64_t dense = layout.tp * layout.pp * layout.cp, expert = layout.etp * layout.ep * layout.pp;
  if (gpus > 0 && gpus % dense != 0) {
    faults->push_back({"layout", absl::StrCat("TP x PP x CP = ", dense, " does not divide ", gpus, " GPUs")});
  }
  if (gpus > 0 && gpus % expert != 0) {
    faults->push_back({"layout", absl::StrCat("ETP x EP x PP = ", expert, " does not divide ", gpus, " GPUs")});
  }
}

}  // namespace

absl::StatusOr<std::vector<ReportFault>> ForecastRun(const NormalizedIntent& intent, const NormalizedIntent* other,
                                                     double value, MeasuredRun* run) {
  std::vector<ReportFault> faults;
  FLIGHTPLAN_ASSIGN_OR_RETURN(const Forecasts forecasts, ForecastOf(intent));
  run->layout = RunLayoutOf(forecasts.config);
  CheckGrid(run->layout, run->gpu_count, &faults);
  if (run->metric == Metric::kStepTime && forecasts.step.has_value()) {
    SetForecast({forecasts.step->low_us, forecasts.step->us, forecasts.step->high_us}, run);
  }
  if (run->metric == Metric::kMemoryPeak && forecasts.memory.has_value()) SetForecast(*forecasts.memory, run);
  if (other != nullptr) {
    FLIGHTPLAN_ASSIGN_OR_RETURN(const Forecasts changed, ForecastOf(*other));
    if (forecasts.step.has_value() && changed.step.has_value()) {
      const StepEffect effect = EffectOf(*forecasts.step, *changed.step);
      SetForecast({effect.low, effect.change, effect.high}, run);
    }
  }
  CheckAgainstForecast(intent, forecasts, *run, value, &faults);
  return faults;
}

}  // namespace flightplan
