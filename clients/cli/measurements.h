// Reported runs, as `flightplan evidence` shows them.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "clients/cli/command.h"
#include "flightplan/v1/evidence.pb.h"

namespace flightplan::cli {

// As a table; the exit code.
int ListMeasurements(const std::vector<v1::Measurement>& measurements, Context& context);
// One JSON object a line, with the fields' own names.
absl::Status ExportMeasurements(const std::vector<v1::Measurement>& measurements, Context& context);

}  // namespace flightplan::cli
