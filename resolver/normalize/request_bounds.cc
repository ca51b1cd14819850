#include "resolver/normalize/request_bounds.h"

#include "absl/strings/str_cat.h"

namespace flightplan {

void CheckRange(absl::string_view field, int64_t value, int64_t high, Violations* violations) {
  if (value < 1 || value > high) violations->Add(field, absl::StrCat("must be 1..", high, ", not ", value));
}

}  // namespace flightplan
