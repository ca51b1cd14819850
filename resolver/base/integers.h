// Integer arithmetic as Python does it, defined for every input: sizes come from outside and may be zero or absurd.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace flightplan {

// value % by == 0; false for by == 0, where upstream's own code would stop with a ZeroDivisionError.
constexpr bool Divisible(int64_t value, int64_t by) { return by != 0 && (by == -1 || value % by == 0); }

// Python's value // by, rounded towards minus infinity; 0 for by == 0.
constexpr int64_t FloorDiv(int64_t value, int64_t by) {
  if (by == 0) return 0;
  if (by == -1) return value == INT64_MIN ? INT64_MAX : -value;
  const int64_t quotient = value / by;
  return value % by != 0 && (value < 0) != (by < 0) ? quotient - 1 : quotient;
}

// Python's value % by, with the sign of `by`; 0 for by == 0.
constexpr int64_t FloorMod(int64_t value, int64_t by) {
  if (by == 0 || by == -1) return 0;
  const int64_t rest = value % by;
  return rest != 0 && (rest < 0) != (by < 0) ? rest + by : rest;
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

// The smallest divisor of value that is at least `from`; 0 when there is none, or none is found among 65,536 numbers.
constexpr int64_t SmallestDivisorFrom(int64_t value, int64_t from) {
  constexpr int64_t kMostTried = 1 << 16;
  for (int64_t d = from; d > 0 && d <= value && d - from < kMostTried; ++d) {
    if (Divisible(value, d)) return d;
  }
  return 0;
}

// The product, or nothing when it does not fit 64 bits.
std::optional<int64_t> Product(std::initializer_list<int64_t> factors);
// The smallest multiple of `unit` that is at least `number`, and positive; nothing when it does not fit 64 bits or
// `unit` is not positive.
std::optional<int64_t> NextMultiple(int64_t number, int64_t unit);
// The largest value below `current`, at least 1, for which number % (others * value) == 0; nothing when there is none.
std::optional<int64_t> NextSmallerFit(int64_t number, int64_t others, int64_t current);

// The number in digits that a shorthand stands for ("128k", "4,096"); empty: none. Sizes of training are powers of two,
// so that a k is 1024; of another number both readings are named. Nothing is taken for the other in silence.
std::string InDigits(absl::string_view text);
// "; did you mean 131072?", behind a refusal of such a text; empty: there is no such number.
std::string MeantInDigits(absl::string_view text);

}  // namespace flightplan
