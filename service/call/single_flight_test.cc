#include "service/call/single_flight.h"

#include <atomic>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace flightplan::service {
namespace {

TEST(SingleFlight, WorksOutOnceForAllWhoAskMeanwhile) {
  SingleFlight<int> flights;
  std::atomic<int> made{0}, shared_count{0}, started{0};
  std::atomic<bool> open{false};
  std::vector<std::thread> threads;
  threads.reserve(8);
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      bool shared = false;
      ++started;
      const auto make = [&]() -> absl::StatusOr<int> {
        while (!open) std::this_thread::yield();
        return ++made * 10;
      };
      const auto result = flights.Run("key", make, &shared);
      EXPECT_EQ(*result, shared ? 10 : made * 10);
      shared_count += shared;
    });
  }
  while (started < 8) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  open = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(made + shared_count, 8);
  EXPECT_GE(shared_count, 1);
}

TEST(SingleFlight, AnErrorIsSharedAndNotKept) {
  SingleFlight<int> flights;
  bool shared = true;
  EXPECT_FALSE(flights
                   .Run(
                       "k", [] { return absl::StatusOr<int>(absl::InternalError("x")); }, &shared)
                   .ok());
  EXPECT_FALSE(shared);
  EXPECT_EQ(*flights.Run(
                "k", [] { return absl::StatusOr<int>(3); }, &shared),
            3);
}

TEST(SingleFlight, WhoStillWaitsDoesNotEndWithTheCallerThatWorkedItOut) {
  SingleFlight<int> flights;
  std::atomic<bool> begun{false}, open{false};
  std::thread leader([&] {
    bool shared = false;
    const auto result = flights.Run(
        "key",
        [&]() -> absl::StatusOr<int> {
          begun = true;
          while (!open) std::this_thread::yield();
          return absl::CancelledError("the caller went away");
        },
        &shared);
    EXPECT_TRUE(absl::IsCancelled(result.status()));
  });
  while (!begun) std::this_thread::yield();
  std::atomic<int> made{0};
  std::vector<std::thread> followers;
  followers.reserve(4);
  for (int i = 0; i < 4; ++i) {
    followers.emplace_back([&] {
      bool shared = false;
      const auto result = flights.Run(
          "key", [&]() -> absl::StatusOr<int> { return ++made, 7; }, &shared);
      EXPECT_EQ(*result, 7);
    });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  open = true;
  leader.join();
  for (std::thread& follower : followers) follower.join();
  EXPECT_GE(made, 1);
}

TEST(SingleFlight, WhoHasGoneDoesNotWaitForTheOneWhoWorksItOut) {
  SingleFlight<int> flights;
  std::atomic<bool> begun{false}, open{false}, gone{false};
  std::thread leader([&] {
    bool shared = false;
    const auto result = flights.Run(
        "key",
        [&]() -> absl::StatusOr<int> {
          begun = true;
          while (!open) std::this_thread::yield();
          return 7;
        },
        &shared);
    EXPECT_EQ(*result, 7);
  });
  while (!begun) std::this_thread::yield();
  std::thread follower([&] {
    const Work work(uint64_t{1} << 40, [&] { return gone.load(); });
    bool shared = false;
    const auto result = flights.Run(
        "key", []() -> absl::StatusOr<int> { return 8; }, &shared);
    EXPECT_TRUE(absl::IsCancelled(result.status())) << result.status();
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  gone = true;
  follower.join();  // while the other one still works
  open = true;
  leader.join();
}

}  // namespace
}  // namespace flightplan::service
