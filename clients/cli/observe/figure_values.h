// The two sides of a compared figure, from numbers in which 0 means that nothing is said.
#pragma once

#include <optional>

#include "flightplan/v1/resolver_service.pb.h"

namespace flightplan::cli {

inline std::optional<double> Positive(double value) { return value > 0 ? std::optional<double>(value) : std::nullopt; }

inline std::optional<v1::Range> RangeOf(const v1::Range& range) {
  return range.value() > 0 ? std::optional<v1::Range>(range) : std::nullopt;
}

// A band without a width: what is counted, and not forecast.
inline std::optional<v1::Range> Point(double value) {
  if (value <= 0) return std::nullopt;
  v1::Range range;
  range.set_value(value);
  range.set_low(value);
  range.set_high(value);
  return range;
}

}  // namespace flightplan::cli
