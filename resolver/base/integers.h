// Integer arithmetic that is defined for every input: sizes come from outside and may be zero or absurd.
#pragma once

#include <cstdint>

namespace flightplan {

// value % by == 0; false for by == 0, where upstream's own code would stop with a ZeroDivisionError.
constexpr bool Divisible(int64_t value, int64_t by) { return by != 0 && (by == -1 || value % by == 0); }

// Python's value // by; 0 for by == 0.
constexpr int64_t FloorDiv(int64_t value, int64_t by) {
  if (by == 0) return 0;
  if (by == -1) return value == INT64_MIN ? INT64_MAX : -value;
  const int64_t quotient = value / by;
  return value % by != 0 && (value < 0) != (by < 0) ? quotient - 1 : quotient;
}

// The largest divisor of value that is not above limit; 1 when there is none. Bounded by the size of `limit`, which
// callers keep at parallel sizes.
constexpr int64_t LargestDivisorUpTo(int64_t value, int64_t limit) {
  constexpr int64_t kMostTried = 1 << 16;
  for (int64_t d = limit < kMostTried ? limit : kMostTried; d > 1; --d) {
    if (Divisible(value, d)) return d;
  }
  return 1;
}

}  // namespace flightplan
