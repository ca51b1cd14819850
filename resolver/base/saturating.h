// Sizes and numbers from outside: what is done with them must not overflow.
#pragma once

#include <cstdint>
#include <limits>

namespace flightplan {

// a * b, or the nearest representable value.
constexpr int64_t SaturatingMul(int64_t a, int64_t b) {
  int64_t product = 0;
  if (!__builtin_mul_overflow(a, b, &product)) return product;
  return (a < 0) == (b < 0) ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::min();
}

// Whether the value lies in [-bound, bound]. std::abs of the least integer is negative.
constexpr bool WithinBound(int64_t value, int64_t bound) { return value >= -bound && value <= bound; }

}  // namespace flightplan
