#include "service/handlers/search_times.h"

#include <gtest/gtest.h>

#include <chrono>

namespace flightplan::service {
namespace {

using std::chrono::milliseconds;

TEST(SearchTimes, EveryPartOfAShortCallHasItsTime) {
  const SearchTimes::Clock::time_point now{};
  for (const milliseconds left : {milliseconds(80), milliseconds(300), milliseconds(600), milliseconds(2000)}) {
    const SearchTimes ends(now, left);
    EXPECT_GE(ends.search - now, left / 2) << left.count();
    EXPECT_GE(ends.plans - ends.search, left / 8) << left.count();
    EXPECT_GE(ends.writing - ends.plans, left / 8) << left.count();
    EXPECT_GE(now + left - ends.writing, std::min(left / 4, milliseconds(200))) << left.count();
  }
}

TEST(SearchTimes, ALongCallSearchesForMostOfIt) {
  const SearchTimes::Clock::time_point now{};
  const SearchTimes ends(now, milliseconds(120'000));
  EXPECT_EQ(ends.search - now, milliseconds(108'000));
  EXPECT_EQ(ends.writing - now, milliseconds(118'000));
}

}  // namespace
}  // namespace flightplan::service
