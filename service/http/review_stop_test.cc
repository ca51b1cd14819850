#include "service/http/review_stop.h"

#include "gtest/gtest.h"
#include "resolver/base/work.h"

namespace flightplan::service {
namespace {

constexpr size_t kMuch = size_t{1} << 20;
constexpr uint64_t kEndless = uint64_t{1} << 60;

TEST(ReviewStop, EndsWorkWhenItsTimeIsOver) {
  ReviewStop::Time now{};
  const ReviewStop stop([&now] { return now; });
  const Work work(kEndless, [&stop] { return stop.Stopped(); });
  now += kMaxReviewTime - std::chrono::milliseconds(1);
  Work::Spend(kMuch);
  EXPECT_FALSE(Work::Spent());
  now += std::chrono::milliseconds(1);
  Work::Spend(kMuch);
  EXPECT_TRUE(Work::Spent());
  EXPECT_TRUE(Work::Abandoned());
  EXPECT_EQ(stop.Why(), "it takes longer than the time for a review");
}

TEST(ReviewStop, EndsWorkWhenTheCallerHasGone) {
  ReviewStop stop([] { return ReviewStop::Time{}; });
  const Work work(kEndless, [&stop] { return stop.Stopped(); });
  Work::Spend(kMuch);
  EXPECT_FALSE(Work::Spent());
  stop.CallerGone();
  Work::Spend(kMuch);
  EXPECT_TRUE(Work::Spent());
  EXPECT_EQ(stop.Why(), "the API server no longer waits for it");
}

}  // namespace
}  // namespace flightplan::service
