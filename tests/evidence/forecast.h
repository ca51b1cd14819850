// Forecasts of published runs and pairs, by the rates of the catalogue or of profiles.
#pragma once

#include <memory>
#include <vector>

#include "resolver/estimate/effect.h"
#include "resolver/estimate/step.h"
#include "resolver/evidence/probe_evidence.h"
#include "tests/evidence/truth.h"

namespace flightplan {

// The mean over what the row may have been, in logarithms; its interval holds theirs. False: no forecast.
bool ForecastRow(const TruthRow& row, const StepCoefficients& coefficients, StepForecast* out);

// The forecast of an A/B pair.
StepEffect ForecastEffect(const AbRow& row, const StepCoefficients& coefficients);

// The rates of the GPUs that these profiles are of come from them from now on; none: the catalogue's again.
void UseProfiles(std::vector<std::shared_ptr<const ProbeEvidence>> profiles);

GpuRates RatesFor(const Run& run, const StepCoefficients& coefficients = {});

}  // namespace flightplan
