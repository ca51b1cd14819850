// A reported run from its message: everything about it that needs no forecast.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "resolver/evidence/measurement.h"
#include "resolver/normalize/violations.h"
#include "resolver/plan/intent.h"

namespace flightplan {

namespace v1 {  // generated from proto/flightplan/v1
class Measurement;
}

class Catalog;

struct ReportedRun {
  Measurement report;                     // without its run
  MeasuredRun run;                        // without layout and forecast
  NormalizedIntent intent;                // the question that the run answers
  std::optional<NormalizedIntent> other;  // of a pair of runs: the question of the second
  Violations violations;                  // so far; the report counts only where there are none in the end
};

// `now_us`, since the epoch: what lies in its future is nonsense; unset: times are not checked against now.
// INVALID_ARGUMENT where no question can be made of the report.
absl::StatusOr<ReportedRun> NormalizeReport(const v1::Measurement& message, std::optional<int64_t> now_us,
                                            const Catalog& catalog);

}  // namespace flightplan
