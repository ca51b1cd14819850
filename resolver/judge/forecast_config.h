// How long a step of a finished configuration takes, by the formulas that a plan is forecast by.
#pragma once

#include <optional>
#include <vector>

#include "resolver/engine/engine.h"
#include "resolver/estimate/throughput.h"
#include "resolver/judge/weigh_config.h"

namespace flightplan {

struct ForecastedConfig {
  StepOutlook outlook;
  Throughput throughput;
};

// What a configuration's step is forecast from. Nothing where the GPU's rates are not known.
std::optional<StepModel> StepModelOf(const WeighedModel& model);

// The step's time alone, without what reported runs say of it; 0 where ForecastConfig has nothing.
double StepUs(const StepModel& model, const Candidate& candidate);
// And with it, as ForecastConfig has it. `env`: effective variables.
double MovedStepUs(const WeighedModel& model, const Environment& env, const StageLayout& stages);

// `run` holds effective values, of which `model` and its `stages` were made. Nothing where the batch or the GPU's rates
// are not known, and where the sizes do not come out even. The stages keep their steady passes, for forecasts to come.
// Reported runs that move the time are named in `findings`.
std::optional<ForecastedConfig> ForecastConfig(const WeighedModel& model, const RunResult& run, StageLayout* stages,
                                               std::vector<Finding>* findings);

}  // namespace flightplan
