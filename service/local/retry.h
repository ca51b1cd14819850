// Attaches to a status when the caller should retry.
#pragma once

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace flightplan::service {

// Asks the caller to come back after `delay` (google.rpc.RetryInfo).
absl::Status WithRetry(absl::Status status, absl::Duration delay);
// The delay asked for; zero: none.
absl::Duration RetryDelay(const absl::Status& status);

}  // namespace flightplan::service
