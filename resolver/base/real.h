// Sizes in formulas of bytes and time.
#pragma once

#include <cstdint>

namespace flightplan {

// A size as the formulas multiply it.
constexpr double D(int64_t size) { return static_cast<double>(size); }

}  // namespace flightplan
