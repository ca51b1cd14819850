// What is trained with: lengths, batch, precision.
#pragma once

#include <vector>

#include "absl/strings/string_view.h"
#include "resolver/normalize/violations.h"
#include "resolver/plan/intent.h"

namespace flightplan {

namespace v1 {  // generated from proto/flightplan/v1
class Workload;
}  // namespace v1

Workload WorkloadFromMessage(const v1::Workload& message, Violations* violations);

// What workload.precision may be.
std::vector<absl::string_view> PrecisionNames();

}  // namespace flightplan
