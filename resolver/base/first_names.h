// The first of many names, for a sentence that has no room for all.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace flightplan {

// Joined; that there are more than `most` is said: "a, b, ...".
std::string FirstNames(const std::vector<std::string>& names, absl::string_view separator, size_t most);

}  // namespace flightplan
