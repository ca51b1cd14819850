// The monotonic clock, for waits and limits.
#pragma once

#include <chrono>

#include "absl/time/time.h"

namespace flightplan::service {

// Since a moment that stays the same as long as this machine runs.
inline absl::Duration SteadyNow() { return absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch()); }

}  // namespace flightplan::service
