#include "resolver/base/thousands.h"

#include <cstddef>

#include "absl/strings/str_cat.h"

namespace flightplan {

std::string WithThousands(int64_t number) {
  std::string digits = absl::StrCat(number);
  const size_t first = number < 0 ? 1 : 0;
  for (size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

}  // namespace flightplan
