#include "service/call/fair_pool.h"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <vector>

#include "gtest/gtest.h"
#include "service/call/tenant.h"
#include "service/observe/metrics.h"
#include "service/version.h"

namespace flightplan::service {
namespace {

using std::chrono::milliseconds;

// So much processor time.
void Work(milliseconds time) {
  timespec start{}, now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
  do {
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  } while ((now.tv_sec - start.tv_sec) * 1'000'000'000 + (now.tv_nsec - start.tv_nsec) < time.count() * 1'000'000);
}

class FairPoolTest : public ::testing::Test {
 protected:
  Metrics metrics_{kVersion, ""};
  Tenants tenants_{&metrics_, /*usual_concurrent=*/0};
  Tenant* const a_ = tenants_.Get("a");
  Tenant* const b_ = tenants_.Get("b");
};

TEST_F(FairPoolTest, RunsEverythingBeforeItEnds) {
  std::atomic<int> runs{0};
  {
    FairPool pool(2);
    for (int i = 0; i < 1000; ++i) pool.Submit(i % 3 == 0 ? nullptr : i % 3 == 1 ? a_ : b_, [&runs] { ++runs; });
  }
  EXPECT_EQ(runs, 1000);
}

TEST_F(FairPoolTest, NothingOfATaskIsLeftWhenItsThreadTidiesUp) {
  const auto held = std::make_shared<int>(0);
  std::promise<int64_t> tidied;
  FairPool pool(1, FairPool::Yields::kNo, [&] { tidied.set_value(held.use_count()); });
  pool.Submit(a_, [mine = held] {});
  EXPECT_EQ(tidied.get_future().get(), 1);
}

TEST_F(FairPoolTest, OneTenantHasItsShareAndAnotherFindsAThread) {
  std::promise<void> go_on;
  const std::shared_future<void> gate = go_on.get_future().share();
  std::atomic<int> begun{0};
  std::promise<void> both, other;
  FairPool pool(2);
  for (int i = 0; i < 5; ++i) {
    pool.Submit(a_, [&, gate] {
      if (++begun == 2) both.set_value();
      gate.wait();
    });
  }
  both.get_future().wait();
  pool.Submit(b_, [&] { other.set_value(); });
  EXPECT_EQ(other.get_future().wait_for(std::chrono::seconds(30)), std::future_status::ready);
  EXPECT_EQ(begun, 2) << "of the threads that are left the first gets none";
  go_on.set_value();
}

TEST_F(FairPoolTest, WhoHasHadTheLeastTimeGoesFirst) {
  std::mutex mutex;
  std::vector<char> order;
  {
    FairPool pool(1);
    std::promise<void> go_on;
    const std::shared_future<void> gate = go_on.get_future().share();
    for (Tenant* tenant : {a_, b_}) pool.Submit(tenant, [gate] { gate.wait(); });  // both threads
    for (int i = 0; i < 40; ++i) {
      pool.Submit(a_, [&] {
        Work(milliseconds(8));
        const std::lock_guard<std::mutex> lock(mutex);
        order.push_back('a');
      });
      pool.Submit(b_, [&] {
        Work(milliseconds(1));
        const std::lock_guard<std::mutex> lock(mutex);
        order.push_back('b');
      });
    }
    go_on.set_value();
  }
  // By the time that the second's forty are done, the first, whose take eight times as long, has had about five.
  int of_a = 0, of_b = 0;
  for (size_t i = 0; of_b < 40; ++i) ++(order[i] == 'a' ? of_a : of_b);
  EXPECT_LE(of_a, 30);
}

TEST_F(FairPoolTest, BoundsWhatOneTenantHasWaiting) {
  std::promise<void> go_on;
  const std::shared_future<void> gate = go_on.get_future().share();
  std::promise<void> began;
  FairPool pool(1);
  pool.Submit(a_, [&, gate] {
    began.set_value();
    gate.wait();
  });
  began.get_future().wait();
  EXPECT_TRUE(pool.TrySubmit(
      a_, [] {}, 2));
  EXPECT_TRUE(pool.TrySubmit(
      a_, [] {}, 2));
  EXPECT_FALSE(pool.TrySubmit(
      a_, [] {}, 2));
  EXPECT_TRUE(pool.TrySubmit(
      b_, [] {}, 2));
  go_on.set_value();
}

TEST_F(FairPoolTest, BoundsWhatAllHaveWaitingTogether) {
  std::promise<void> go_on;
  const std::shared_future<void> gate = go_on.get_future().share();
  std::atomic<int> begun{0};
  std::promise<void> busy;
  FairPool pool(1);
  for (Tenant* tenant : {a_, b_}) {
    pool.Submit(tenant, [&, gate] {
      if (++begun == 2) busy.set_value();
      gate.wait();
    });
  }
  busy.get_future().wait();
  const auto submit = [&](Tenant* tenant) {
    return pool.TrySubmit(
        tenant, [] {}, /*max_queued=*/3, /*max_of_all=*/4);
  };
  EXPECT_TRUE(submit(a_));
  EXPECT_TRUE(submit(a_));
  EXPECT_FALSE(submit(a_)) << "half of all";
  EXPECT_TRUE(submit(b_)) << "has none waiting";
  EXPECT_FALSE(submit(b_));
  EXPECT_TRUE(submit(tenants_.Get("c")));
  EXPECT_FALSE(submit(tenants_.Get("d"))) << "four wait";
  EXPECT_TRUE(pool.TrySubmit(
      a_, [] {}, /*max_queued=*/3))
      << "has no part in that limit";
  go_on.set_value();
}

TEST_F(FairPoolTest, ChargesWhoeverAsked) {
  a_->SetQuota({.calls_per_second = 100, .concurrent = 0});
  b_->SetQuota({.calls_per_second = 100, .concurrent = 0});
  {
    FairPool pool(1);
    pool.Submit(a_, [] { Work(milliseconds(500)); });
    pool.Submit(b_, [] {});
  }
  EXPECT_TRUE(a_->Take(SteadyNow()).has_value()) << "500 calls' worth, of which 200 are free at once";
  EXPECT_FALSE(b_->Take(SteadyNow()).has_value());
}

TEST(FairPool, LeavesTheProcessorToOthersWhereItIsToldTo) {
  const int before = getpriority(PRIO_PROCESS, 0);
  std::atomic<int> inside{0};
  {
    FairPool pool(1, FairPool::Yields::kYes);
    pool.Submit(nullptr, [&inside] { inside = getpriority(PRIO_PROCESS, 0); });
  }
  EXPECT_EQ(inside, std::min(before + 10, 19));
  EXPECT_EQ(getpriority(PRIO_PROCESS, 0), before);  // of this thread
}

}  // namespace
}  // namespace flightplan::service
