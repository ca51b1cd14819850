#include "service/local/parallel_for.h"

#include <atomic>
#include <vector>

#include "gtest/gtest.h"

namespace flightplan::service {
namespace {

TEST(ParallelFor, VisitsEverythingOnce) {
  for (int threads : {0, 1, 3, 8}) {
    for (size_t count : {size_t{0}, size_t{1}, size_t{7}, size_t{1000}}) {
      std::vector<std::atomic<int>> visits(count);
      ParallelOn(threads)(count, [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) visits[i].fetch_add(1);
      });
      for (const std::atomic<int>& visit : visits) EXPECT_EQ(visit.load(), 1);
    }
  }
}

}  // namespace
}  // namespace flightplan::service
