// What ROLL evaluates as Python to know the GPUs of a role: "list(range(0,16))", "[0, 1]", and sums of such lists.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"

namespace flightplan {

inline constexpr int64_t kMostDevices = int64_t{1} << 16;

// Their numbers, as many as kMostDevices. Empty: another expression, or more of them.
std::optional<std::vector<int64_t>> RollDevices(absl::string_view expression);

}  // namespace flightplan
