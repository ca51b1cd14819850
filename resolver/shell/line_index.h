// The lines of a script. Private to its reader.
#pragma once

#include <algorithm>
#include <vector>

#include "absl/strings/string_view.h"
#include "resolver/plan/reading.h"

namespace flightplan {

// Offsets become lines and columns in one pass over the line starts.
class LineIndex {
 public:
  explicit LineIndex(absl::string_view text) {
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\n') starts_.push_back(static_cast<int>(i) + 1);
    }
  }
  void Place(SourcePosition* at) const {
    const int offset = at->line;
    at->line = 0;
    if (offset < 0) return;
    const auto next = std::upper_bound(starts_.begin(), starts_.end(), offset);
    at->line = static_cast<int>(next - starts_.begin());
    at->column = offset - *(next - 1) + 1;
  }

 private:
  std::vector<int> starts_ = {0};
};

}  // namespace flightplan
