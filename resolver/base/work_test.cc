#include "resolver/base/work.h"

#include <gtest/gtest.h>

namespace flightplan {
namespace {

TEST(Work, IsSpentOnceItsUnitsAre) {
  EXPECT_FALSE(Work::Spent());
  Work::Spend(size_t{1} << 40);  // without a budget nothing is counted
  EXPECT_TRUE(Work::Affords(uint64_t{1} << 60));
  const Work work(1000);
  EXPECT_TRUE(Work::Affords(1000));
  EXPECT_FALSE(Work::Affords(1001));
  Work::Spend(999);
  EXPECT_FALSE(Work::Spent());
  Work::Spend(1);
  EXPECT_TRUE(Work::Spent());
  EXPECT_FALSE(Work::Abandoned());
  EXPECT_FALSE(Work::Affords(1));
}

TEST(Work, AnInnerBudgetCannotOutspendTheOuter) {
  const Work outer(1'000'000);
  {
    const Work inner(400'000);
    for (int i = 0; i < 500; ++i) Work::Spend(1000);
    EXPECT_TRUE(Work::Spent());
  }
  EXPECT_FALSE(Work::Spent());
  {
    const Work inner(10'000'000);
    for (int i = 0; i < 3'000 && !Work::Spent(); ++i) Work::Spend(1000);
    EXPECT_TRUE(Work::Spent());
  }
  EXPECT_TRUE(Work::Spent());
}

TEST(Work, EndsWithItsCaller) {
  bool gone = false;
  const Work work(uint64_t{1} << 40, [&gone] { return gone; });
  Work::Spend(size_t{1} << 20);
  EXPECT_FALSE(Work::Spent());
  gone = true;
  Work::Spend(size_t{1} << 20);
  EXPECT_TRUE(Work::Spent());
  EXPECT_TRUE(Work::Abandoned());
  const Work inner(100);
  EXPECT_TRUE(Work::Spent());
}

}  // namespace
}  // namespace flightplan
