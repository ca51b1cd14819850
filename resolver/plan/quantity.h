// What a physical quantity may be where a request, a profile, a measurement or a catalogue states one: far beyond every
// machine on both sides, and near enough that no product or quotient of the formulas leaves the numbers of a double.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace flightplan {

struct Quantity {
  absl::string_view unit;
  double low, high;
};
inline constexpr Quantity kBytesPerSecond{"bytes per second", 1e6, 1e15};
inline constexpr Quantity kFlopsPerSecond{"FLOP per second", 1e9, 1e18};
inline constexpr Quantity kGpuMemoryBytes{"bytes", 1 << 20, 1e15};
inline constexpr Quantity kHostMemoryBytes{"bytes of one node", 1 << 20, 1e15};
// A week: nothing that is called a step takes longer.
inline constexpr Quantity kStepMicroseconds{"microseconds of one whole step", 1, 6.048e11};

// "1048576", "1e+15": as short as it goes without another value.
std::string NumberText(double value);

// Empty where `value` is in the range, else what it must be: "must be 1e+06..1e+15 bytes per second, not 1e-300".
std::string OutsideOf(const Quantity& quantity, double value);

}  // namespace flightplan
