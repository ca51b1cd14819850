// A run as measurements for the evidence store (deploy/evidence.md).
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/cli/observe/observation.h"
#include "flightplan/v1/evidence.pb.h"
#include "flightplan/v1/resolver_service.pb.h"

namespace flightplan::cli {

struct ReportOptions {
  std::string model;    // catalogue name: a launch does not say which model it is
  std::string cluster;  // as the reporter names it; empty: not said
};

// Step time and, where the run printed it, the memory peak. They hold figures, knobs, layout and versions; no path, no
// host, no name but those of the options. Quality "matched" where the run printed its arguments and they are the
// launch's, else "directional". The id follows from the content, so that a repeat is known as one. FAILED_PRECONDITION:
// why there is nothing to report.
absl::StatusOr<std::vector<v1::Measurement>> MeasurementsOf(const Observation& o,
                                                            const v1::ValidateConfigRequest& launch,
                                                            const ReportOptions& options);

}  // namespace flightplan::cli
