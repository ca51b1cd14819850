// "Did you mean ...?": the known name nearest to a misspelt one.
#pragma once

#include <vector>

#include "absl/strings/string_view.h"

namespace flightplan {

// Empty when no candidate is near (about a third of the characters may differ). Ties go to the alphabetically first.
absl::string_view NearestName(absl::string_view name, const std::vector<absl::string_view>& candidates);

}  // namespace flightplan
