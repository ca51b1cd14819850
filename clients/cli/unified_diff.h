// The difference of two texts as `diff -u` writes it, for `patch` and for people.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace flightplan::cli {

// Empty for equal texts. Three lines of context.
std::string UnifiedDiff(absl::string_view old_name, absl::string_view old_text, absl::string_view new_name,
                        absl::string_view new_text);

}  // namespace flightplan::cli
