#include "resolver/plan/quantity.h"

#include <cmath>
#include <cstdint>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace flightplan {

std::string NumberText(double value) {
  constexpr double kMostWhole = 1e15;  // which a double has without a gap
  std::string text = absl::StrCat(value);
  double read = 0;
  const bool whole = std::abs(value) <= kMostWhole && value == std::floor(value);
  return whole && !(absl::SimpleAtod(text, &read) && read == value) ? absl::StrCat(static_cast<int64_t>(value)) : text;
}

std::string OutsideOf(const Quantity& quantity, double value) {
  if (value >= quantity.low && value <= quantity.high) return "";  // false of NaN
  return absl::StrCat("must be ", NumberText(quantity.low), "..", NumberText(quantity.high), " ", quantity.unit,
                      ", not ", NumberText(value));
}

}  // namespace flightplan
