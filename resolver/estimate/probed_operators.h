// Forecasts with a profile's times of scans and of a sparse attention's indexer, at the shape nearest to the model's.
#pragma once

#include <vector>

#include "resolver/derive/shape.h"
#include "resolver/estimate/gpu_rates.h"
#include "resolver/evidence/probe_evidence.h"
#include "resolver/plan/intent.h"

namespace flightplan {

// One operator of the model that the profile has a row of.
struct ProbedOperator {
  absl::string_view name;  // as among the terms without evidence: "Mamba scan"
  const FittedOperator* row = nullptr;
  double error = 0;  // the row's, wider where the model's width is another one
};

// Empty: the profile has none, or there is no profile. The rows are those of intent.probe.
std::vector<ProbedOperator> ProbedOperators(const NormalizedIntent& intent);

GpuRates WithOperators(GpuRates rates, const std::vector<ProbedOperator>& operators, double strange);

}  // namespace flightplan
