// The difference of two texts as `diff -u` writes it, for `patch` and for people.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace flightplan::cli {

// Empty for equal texts. Three lines of context.
std::string UnifiedDiff(absl::string_view old_name, absl::string_view old_text, absl::string_view new_name,
                        absl::string_view new_text);

// Lines of the old text, counted from 0, and what stands there in the new one.
struct LineChange {
  size_t first = 0;
  size_t count = 0;  // 0: goes in before `first`
  std::string text;  // whole lines; empty: they go away
};
// In order, without overlap.
std::vector<LineChange> LineChanges(absl::string_view old_text, absl::string_view new_text);

}  // namespace flightplan::cli
