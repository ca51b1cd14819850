#include "resolver/base/first_names.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace flightplan {

std::string FirstNames(const std::vector<std::string>& names, absl::string_view separator, size_t most) {
  const size_t shown = std::min(names.size(), most);
  const auto end = names.begin() + static_cast<std::ptrdiff_t>(shown);
  return absl::StrCat(absl::StrJoin(names.begin(), end, separator),
                      shown < names.size() ? absl::StrCat(separator, "...") : "");
}

}  // namespace flightplan
