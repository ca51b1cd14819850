#include "service/call/wait_gate.h"

#include <atomic>
#include <deque>
#include <optional>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace flightplan::service {
namespace {

using std::chrono::milliseconds;
using Ticket = WaitGate::Ticket;

constexpr WaitGate::Time kStart{std::chrono::hours(1)};
constexpr WaitLimits kLimits{
    .burst = milliseconds(25), .overloaded = milliseconds(4), .calm = milliseconds(1000), .kept = 1};

WaitGate::Time At(int ms) { return kStart + milliseconds(ms); }

// Tickets of calls that join at `now`, until one is refused or `most` have joined.
std::vector<Ticket> JoinUpTo(size_t most, WaitGate::Time now, WaitGate* gate) {
  std::vector<Ticket> tickets;
  while (tickets.size() < most) {
    const std::optional<Ticket> ticket = gate->Join(now);
    if (!ticket.has_value()) break;
    tickets.push_back(*ticket);
  }
  return tickets;
}

// A gate of one worker, on which calls took `ms` each; empty from the time returned on.
WaitGate::Time Teach(int ms, WaitGate* gate) {
  const std::vector<Ticket> tickets = JoinUpTo(3, kStart, gate);
  EXPECT_EQ(tickets.size(), 3u);
  for (size_t i = 0; i < tickets.size(); ++i) EXPECT_TRUE(gate->TakeTurn(tickets[i], At(static_cast<int>(i) * ms)));
  return At(3 * ms);
}

TEST(WaitGate, ServesABurstThatIsWorkedOffInTime) {
  WaitGate gate(1, kLimits);
  const WaitGate::Time now = Teach(5, &gate);
  // Before the sixth stand five of 5 ms each, before the seventh six.
  const std::vector<Ticket> burst = JoinUpTo(100, now, &gate);
  ASSERT_EQ(burst.size(), 6u);
  for (int i = 0; i < 6; ++i) EXPECT_TRUE(gate.TakeTurn(burst[static_cast<size_t>(i)], now + milliseconds(5 * i))) << i;
}

TEST(WaitGate, LeavesLittleToWaitOnceACallWasRefused) {
  WaitGate gate(1, kLimits);
  const WaitGate::Time now = Teach(1, &gate);
  std::vector<Ticket> burst = JoinUpTo(100, now, &gate);
  EXPECT_EQ(burst.size(), 26u);
  for (int i = 0; i < 26; ++i) {
    ASSERT_TRUE(gate.TakeTurn(burst[static_cast<size_t>(i)], now + milliseconds(i))) << "keeps the time it was given";
  }
  EXPECT_EQ(JoinUpTo(100, now + milliseconds(26), &gate).size(), 5u) << "4 ms of 1 ms each";
}

TEST(WaitGate, GivesABurstItsTimeAgainAfterACalm) {
  for (const bool calm : {false, true}) {
    WaitGate gate(1, kLimits);
    const WaitGate::Time now = Teach(1, &gate);
    for (const Ticket& ticket : JoinUpTo(100, now, &gate)) gate.TakeTurn(ticket, now);  // one was refused, at `now`
    const WaitGate::Time later = now + milliseconds(calm ? 1000 : 999);
    const std::optional<Ticket> ticket = gate.Join(later);
    ASSERT_TRUE(ticket.has_value());
    EXPECT_EQ(ticket->longest, calm ? kLimits.burst : kLimits.overloaded);
  }
}

TEST(WaitGate, AlwaysLeavesSomeWaitingForEachWorker) {
  WaitGate gate(2, kLimits);
  // Far slower than anybody may wait: 20 ms between two turns.
  const std::vector<Ticket> tickets = JoinUpTo(3, kStart, &gate);
  EXPECT_TRUE(gate.TakeTurn(tickets[0], kStart));
  EXPECT_TRUE(gate.TakeTurn(tickets[1], At(20)));
  EXPECT_TRUE(gate.TakeTurn(tickets[2], At(40)));
  EXPECT_EQ(JoinUpTo(100, At(50), &gate).size(), 2u);
}

// What a balancer has under way in a server is bounded by their number, and is no overload however slow the machine is.
TEST(WaitGate, RefusesNothingOfFourCallsACore) {
  constexpr int kCores = 2;
  WaitGate gate(kCores);
  std::deque<Ticket> waiting;
  for (int ms = 0; ms < 10'000; ms += 500) {
    while (waiting.size() < size_t{4} * kCores) {
      const std::optional<Ticket> ticket = gate.Join(At(ms));
      ASSERT_TRUE(ticket.has_value()) << ms;
      waiting.push_back(*ticket);
    }
    ASSERT_TRUE(gate.TakeTurn(waiting.front(), At(ms + 499))) << ms;
    waiting.pop_front();
  }
}

TEST(WaitGate, RefusesBehindACallThatIsStuck) {
  WaitGate gate(1, kLimits);  // knows nothing of how long calls take
  const std::vector<Ticket> tickets = JoinUpTo(2, kStart, &gate);
  ASSERT_TRUE(gate.TakeTurn(tickets[0], kStart));
  EXPECT_TRUE(gate.Join(At(25)).has_value());
  EXPECT_FALSE(gate.Join(At(26)).has_value());
}

TEST(WaitGate, RefusesAtItsTurnWhatHasWaitedTooLong) {
  WaitGate gate(1, kLimits);
  const std::vector<Ticket> tickets = JoinUpTo(4, kStart, &gate);
  EXPECT_TRUE(gate.TakeTurn(tickets[0], kStart));
  EXPECT_TRUE(gate.TakeTurn(tickets[1], At(25)));
  EXPECT_FALSE(gate.TakeTurn(tickets[2], At(26)));
  EXPECT_TRUE(gate.TakeTurn(tickets[3], At(500))) << "nobody gains by its refusal";
  // The refusal was one like any other.
  const std::optional<Ticket> next = gate.Join(At(501));
  ASSERT_TRUE(next.has_value());
  EXPECT_EQ(next->longest, kLimits.overloaded);
}

TEST(WaitGate, DoesNotTakeAnIdleTimeForWork) {
  WaitGate gate(1, kLimits);
  for (int i = 0; i < 10; ++i) {  // one call every 100 ms, none of them waits
    const std::optional<Ticket> ticket = gate.Join(At(100 * i));
    ASSERT_TRUE(ticket.has_value());
    EXPECT_TRUE(gate.TakeTurn(*ticket, At(100 * i)));
  }
  EXPECT_EQ(JoinUpTo(50, At(1000), &gate).size(), 50u) << "nothing is known of work that keeps calls waiting";
}

TEST(WaitGate, ForgetsHowSlowItWasLongAgo) {
  for (const bool long_ago : {false, true}) {
    WaitGate gate(1, kLimits);
    const WaitGate::Time now = Teach(12, &gate);
    // The last turn for which a call had to wait was 12 ms before `now`.
    EXPECT_EQ(JoinUpTo(50, now + milliseconds(long_ago ? 988 : 987), &gate).size(), long_ago ? 50u : 3u);
  }
}

TEST(WaitGate, FollowsWorkThatGetsSlower) {
  WaitGate gate(1, kLimits);
  Teach(1, &gate);
  WaitGate::Time now = At(500);
  std::deque<Ticket> waiting{*gate.Join(now)};
  for (int i = 0; i < 100; ++i, now += milliseconds(10)) {  // 10 ms each from now on, always one waiting
    waiting.push_back(*gate.Join(now));
    ASSERT_TRUE(gate.TakeTurn(waiting.front(), now));
    waiting.pop_front();
  }
  // Before the next stand 10 ms, before the one after it 20, then 30.
  EXPECT_EQ(JoinUpTo(100, now, &gate).size(), 2u);
}

TEST(WaitGate, AFloodOfOneCallerRefusesThatCallerAlone) {
  WaitGate gate(1, kLimits);
  const WaitGate::Time now = Teach(1, &gate);
  const int flooding = 0, other = 0;
  std::vector<Ticket> flood;
  while (const std::optional<Ticket> ticket = gate.Join(now, &flooding)) flood.push_back(*ticket);
  EXPECT_EQ(flood.size(), 26u);
  // A fair pool works on one of each in turn: before the other's fifth stand nine calls of 1 ms, not thirty.
  std::vector<Ticket> few;
  for (int i = 0; i < 5; ++i) {
    const std::optional<Ticket> ticket = gate.Join(now, &other);
    ASSERT_TRUE(ticket.has_value()) << i;
    EXPECT_EQ(ticket->longest, kLimits.burst) << "the flood's refusals are not this caller's";
    few.push_back(*ticket);
  }
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(gate.TakeTurn(flood[static_cast<size_t>(i)], now + milliseconds(2 * i)));
    EXPECT_TRUE(gate.TakeTurn(few[static_cast<size_t>(i)], now + milliseconds(2 * i + 1)));
  }
}

TEST(WaitGate, MayBeAskedFromManyThreads) {
  WaitGate gate(4);
  std::atomic<int> turns{0}, joins{0};
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5000; ++i) {
        const std::optional<Ticket> ticket = gate.Join(std::chrono::steady_clock::now());
        if (!ticket.has_value()) continue;
        ++joins;
        gate.TakeTurn(*ticket, std::chrono::steady_clock::now());
        ++turns;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(turns, joins);
  EXPECT_GT(joins, 0);
}

}  // namespace
}  // namespace flightplan::service
