#include "resolver/estimate/step_model.h"

#include <algorithm>

#include "resolver/estimate/probe_outlook.h"

namespace flightplan {

std::optional<StepModel> StepModel::Make(const NormalizedIntent& intent, std::optional<ModelShape> shape) {
  if (!shape.has_value()) return std::nullopt;
  const GpuRates rates = RatesFor(intent);
  if (!rates.known) return std::nullopt;
  return StepModel(*std::move(shape), rates, intent.gpu);
}

StepModel::StepModel(ModelShape shape, const GpuRates& rates, const GpuSystem& gpu)
    : shape_(std::move(shape)),
      work_(WorkOf(shape_)),
      rates_(rates),
      capacity_(static_cast<double>(gpu.hbm_bytes.value_or(0))),
      cc_major_(gpu.cc_major),
      domain_gpus_(static_cast<int>(gpu.nvlink_domain_gpus)) {}

MemoryForecast StepModel::Memory(const Candidate& candidate) const {
  MemoryForecast memory;
  ForecastMemory(shape_, candidate, {capacity_, {cc_major_, domain_gpus_}}, &memory);
  return memory;
}

StepModel::Room StepModel::RoomOf(FitVerdict verdict) {
  switch (verdict) {
    case FitVerdict::kUnknown:
      return Room::kUnknown;
    case FitVerdict::kFits:
      return Room::kEnough;
    case FitVerdict::kMarginal:
      return Room::kMarginal;
    case FitVerdict::kDoesNotFit:
      return Room::kShort;
  }
  return Room::kUnknown;
}

std::optional<StepForecast> StepModel::Forecast(const Candidate& candidate) const {
  const int64_t dense = int64_t{candidate.tp} * candidate.pp * candidate.cp;
  const int64_t expert = int64_t{candidate.etp} * candidate.ep * candidate.pp;
  if (candidate.gpus % dense != 0 || candidate.gpus % expert != 0) return std::nullopt;
  if (shape_.experts % std::max(1, candidate.ep) != 0) return std::nullopt;
  if (candidate.global_batch_size <= 0 || candidate.seq_length <= 0) return std::nullopt;
  StepForecast forecast;
  if (!ForecastStep(work_, candidate, rates_, &forecast) && forecast.is_finite()) return std::nullopt;
  return forecast;
}

std::vector<WallShare> WallsOf(const StepParts& parts) {
  const double total = parts.total();
  if (total <= 0) return {};
  std::vector<WallShare> walls = {{"compute", parts.compute() / total},
                                  {"communication", parts.communication() / total},
                                  {"host", parts.host / total},
                                  {"bubble", parts.bubble / total},
                                  {"optimizer", parts.optimizer / total}};
  std::stable_sort(walls.begin(), walls.end(),
                   [](const WallShare& a, const WallShare& b) { return a.ratio > b.ratio; });
  return walls;
}

StepOutlook OutlookOf(const StepForecast& forecast, const std::optional<MeasuredProfile>& profile) {
  StepOutlook outlook;
  outlook.us = forecast.us;
  outlook.low_us = forecast.low_us;
  outlook.high_us = forecast.high_us;
  outlook.model_flops = forecast.model_flops;
  outlook.walls = WallsOf(forecast.parts);
  if (!profile.has_value()) return outlook;
  if (profile->step_time_us.has_value()) {
    outlook.us = outlook.low_us = outlook.high_us = *profile->step_time_us;
    outlook.measured = true;
  }
  double taken = 0, open = 0;
  const auto measured = [&](absl::string_view wall) -> std::optional<double> {
    if (wall == "communication") return profile->exposed_communication_ratio;
    if (wall == "host") return profile->host_gap_ratio;
    if (wall == "bubble") return profile->pipeline_bubble_ratio;
    return std::nullopt;
  };
  for (WallShare& wall : outlook.walls) {
    if (const std::optional<double> ratio = measured(wall.name); ratio.has_value()) {
      wall.ratio = *ratio;
      wall.measured = true;
      taken += *ratio;
    } else {
      open += wall.ratio;
    }
  }
  for (WallShare& wall : outlook.walls) {
    if (!measured(wall.name).has_value() && open > 0) wall.ratio *= std::max(0.0, 1 - taken) / open;
  }
  std::stable_sort(outlook.walls.begin(), outlook.walls.end(),
                   [](const WallShare& a, const WallShare& b) { return a.ratio > b.ratio; });
  return outlook;
}

}  // namespace flightplan
