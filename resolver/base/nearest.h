// "Did you mean ...?": the known name nearest to a misspelt one.
#pragma once

#include <cstddef>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace flightplan {

// Empty when no candidate is near: a third of the characters may differ, or `at_least`, but never more than half of
// them. Ties go to the alphabetically first.
absl::string_view NearestName(absl::string_view name, absl::Span<const absl::string_view> candidates,
                              size_t at_least = 2);

}  // namespace flightplan
