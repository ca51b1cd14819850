// Forecasts a run that was measured, next to its measurement. It never looks at other evidence, so that what a
// report is worth does not depend on the order of reports.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "resolver/evidence/measurement.h"
#include "resolver/plan/intent.h"

namespace flightplan {

// What is nonsense about a report: a field of it, and why.
struct ReportFault {
  std::string field, what;
};

// Sets layout and forecast of `run`, which answered the question `intent`. `other`: of a pair of runs the second
// question, else null. `value`: what was measured, in the metric's unit. The faults are sizes that do not divide and
// values that no machine reaches. INTERNAL: a forecast that is no number.
absl::StatusOr<std::vector<ReportFault>> ForecastRun(const NormalizedIntent& intent, const NormalizedIntent* other,
                                                     double value, MeasuredRun* run);

}  // namespace flightplan
