// Layer patterns as people write them: "[0]*3+[1]*58", "([1]+[0]*2)*4", "[1,0,1]". Read, never evaluated as code.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace flightplan {

// The expanded list. INVALID_ARGUMENT with the offset when it does not read, or when it expands to more than
// `max_items` items.
absl::StatusOr<std::vector<int64_t>> ExpandLayerPattern(absl::string_view text, size_t max_items = 16'384);

}  // namespace flightplan
