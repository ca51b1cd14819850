// Whether a finished configuration fits its GPU: the model is read from the knobs, then weighed by the formulas that a
// plan is weighed by.
#pragma once

#include <optional>
#include <string>

#include "resolver/engine/engine.h"
#include "resolver/estimate/estimate.h"
#include "resolver/plan/hardware.h"

namespace flightplan {

struct WeighedConfig {
  std::optional<EstimatedPlan> estimate;
  std::string not_judged;  // why there is none; empty where there is one
};

// The forecast alone, of effective values.
WeighedConfig EstimateConfig(const std::optional<GpuSystem>& gpu, const Config& config, const Environment& env);

// `run` holds the effective configuration; findings about memory are added to it. `gpu` as the caller described it;
// empty: none was given.
WeighedConfig WeighConfig(const std::optional<GpuSystem>& gpu, RunResult* run);

}  // namespace flightplan
