// How long a step of a finished configuration takes, by the formulas that a plan is forecast by.
#pragma once

#include <optional>

#include "resolver/engine/engine.h"
#include "resolver/estimate/throughput.h"
#include "resolver/plan/hardware.h"

namespace flightplan {

struct ForecastedConfig {
  StepOutlook outlook;
  Throughput throughput;
};

// What a configuration's step is forecast from.
struct ForecastBasis {
  StepModel model;
  StageLayout stages;
};

// `run` holds effective values. Nothing where the model or the GPU's rates are not known.
std::optional<ForecastBasis> BasisOfForecast(const std::optional<GpuSystem>& gpu, const RunResult& run);

// `run` holds effective values. Nothing where the model, its batch or the GPU's rates are not known, and where the
// sizes do not come out even.
std::optional<ForecastedConfig> ForecastConfig(const std::optional<GpuSystem>& gpu, const RunResult& run);

}  // namespace flightplan
