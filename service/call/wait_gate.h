// Limits queueing time. Rejects a call on arrival if its expected wait is too long, because rejecting early is cheap,
// and when its turn comes if it has waited too long after all, because work took longer than before. A few waiting
// calls for each worker are never rejected: a machine that was busy elsewhere for a while is not overloaded, and a
// worker that gets free should have something to do.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <map>
#include <mutex>
#include <optional>

namespace flightplan::service {

// A burst is served whole when its last call waits for at most `burst`. Once a call had to be refused this is no burst
// any more but more work than there are workers: then a longer queue answers no more calls, each only later. So only
// `overloaded` is left to wait, until nothing has been refused for `calm`.
struct WaitLimits {
  std::chrono::steady_clock::duration burst = std::chrono::milliseconds(25);
  std::chrono::steady_clock::duration overloaded = std::chrono::milliseconds(4);
  std::chrono::steady_clock::duration calm = std::chrono::seconds(1);
  // Calls a worker that may wait however long it takes: as many as a balancer gives each core at a time
  // (FLIGHTPLAN_IN_FLIGHT of deploy/haproxy), so that behind one the server itself refuses nothing.
  size_t kept = 4;
};

// Knows the queues of one pool, a line for each caller that the pool keeps apart, by their joins and turns, and has no
// clock of its own. A caller's line bounds that caller alone: beside one who floods, another waits as if the first had
// no more calls waiting than it has itself, which is what a fair pool gives. All methods from any thread.
class WaitGate {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::steady_clock::duration;

  // A place in a line.
  struct Ticket {
    Time joined;
    Duration longest;    // it may wait: the limit that held when it joined
    const void* caller;  // identifies the caller's queue; null: the queue of unknown callers
  };

  explicit WaitGate(int workers, WaitLimits limits = {});

  // Nothing: the call would wait too long. Every ticket takes its turn once, in about the order of joining.
  std::optional<Ticket> Join(Time now, const void* caller = nullptr);
  // False: the call has waited too long, others of its caller wait behind it, and it is to be refused. Else it is
  // worked on.
  bool TakeTurn(const Ticket& ticket, Time now);

 private:
  struct Line {
    std::deque<Time> waiting;     // when the calls in it joined
    std::optional<Time> refused;  // last
  };

  Duration Limit(const Line& line, Time now) const;
  bool IsQueue(const Line& line) const { return line.waiting.size() >= kept_; }
  Duration ExpectedWait(const Line& line, Time now) const;
  void Learn(Duration interval, Time now);

  const size_t kept_;  // by all workers
  const WaitLimits limits_;
  std::mutex mutex_;
  std::map<const void*, Line> lines_;  // of those who wait or were refused; this and all below guarded by mutex_
  size_t waiting_ = 0;                 // in all lines
  // When work last began with more of it waiting: until the next turn nothing but work keeps that one waiting.
  std::optional<Time> busy_since_;
  double mean_interval_ = 0;  // between two turns while calls wait, in ticks of Duration
  Time learned_{};            // when the mean last saw such an interval: it says nothing of a time long after
};

}  // namespace flightplan::service
