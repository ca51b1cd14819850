// Which settings go together, and which addresses may be served how.
#pragma once

#include "absl/status/status.h"
#include "service/settings/settings.h"

namespace flightplan::service {

// INVALID_ARGUMENT names the setting and what is missing beside it.
absl::Status CheckTogether(const Settings& settings);

}  // namespace flightplan::service
