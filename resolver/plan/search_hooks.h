// What a search needs of the world outside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace flightplan {

struct PlanProgress {
  double done_ratio = 0;  // of the space
  int64_t judged = 0;     // candidates
  double best_us = 0;     // 0: none yet
};

// Both may be empty.
struct PlanHooks {
  // Calls body(begin, end) for ranges that cover [0, count), on as many threads as it likes; the answer is the same.
  std::function<void(size_t count, const std::function<void(size_t begin, size_t end)>& body)> parallel;
  // Called every few milliseconds; false stops the search, which then answers with the best so far.
  std::function<bool(const PlanProgress&)> progress;
};

}  // namespace flightplan
