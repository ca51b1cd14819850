#include "resolver/plan/quantity.h"

#include "absl/strings/str_cat.h"

namespace flightplan {

std::string OutsideOf(const Quantity& quantity, double value) {
  if (value >= quantity.low && value <= quantity.high) return "";  // false of NaN
  return absl::StrCat("must be ", quantity.low, "..", quantity.high, " ", quantity.unit, ", not ", value);
}

}  // namespace flightplan
