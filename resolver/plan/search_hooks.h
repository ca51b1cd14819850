// What a search needs of the world outside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>

namespace flightplan {

struct PlanProgress {
  double done_ratio = 0;  // of the space
  int64_t judged = 0;     // candidates
  double best_us = 0;     // 0: none yet
};

// Each may be left as it is.
struct PlanHooks {
  // Calls body(begin, end) for ranges that cover [0, count), on as many threads as it likes; the answer is the same.
  std::function<void(size_t count, const std::function<void(size_t begin, size_t end)>& body)> parallel;
  // Called every few milliseconds; false stops the search, which then answers with the best so far.
  std::function<bool(const PlanProgress&)> progress;
  // Asked before every plan but the first is written; false leaves out those that are not, and a finding says so.
  std::function<bool()> write_on;
  // Bytes that the answer may have: the last plans are left out of a larger one, and a finding says so.
  size_t max_answer_bytes = std::numeric_limits<size_t>::max();
};

}  // namespace flightplan
