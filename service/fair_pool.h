// Threads that several tenants share by the time that their work takes. One tenant has at most `share` of them at a
// time, and there are twice as many: another one's task finds a thread, and the system divides the processor between
// them. Of those who wait, he who has had the least time goes first; nobody saves up time while he asks for nothing.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

namespace flightplan::service {

class Tenant;

class FairPool {
 public:
  explicit FairPool(int share);
  // Runs what is queued, then ends.
  ~FairPool();
  FairPool(const FairPool&) = delete;
  FairPool& operator=(const FairPool&) = delete;

  // `tenant` is charged for the processor time of its tasks (Tenant::Charge); null: nobody is asked who he is.
  void Submit(Tenant* tenant, std::function<void()> task);
  // False, and nothing is queued: `max_queued` tasks of this tenant wait already.
  bool TrySubmit(Tenant* tenant, std::function<void()> task, size_t max_queued);
  // Threads that one tenant has at a time.
  int share() const { return share_; }

 private:
  using Time = std::chrono::nanoseconds;

  // A tenant's.
  struct Line {
    Tenant* tenant;
    std::deque<std::function<void()>> tasks;
    int running = 0;
    Time used{0};        // of processor time, with what its running tasks are expected to take
    Time a_task{0};      // takes, about
    bool ready = false;  // stands in ready_ with the time that it has used
  };

  void Run();
  // Puts the line where it belongs after its tasks or its time have changed.
  void Place(Line* line);
  void TakeOut(Line* line);

  const int share_;
  std::mutex mutex_;  // guards everything below
  std::condition_variable wake_;
  std::map<Tenant*, Line> lines_;
  std::set<std::pair<Time, Line*>> ready_;  // with a task to begin, the next in front
  Time now_{0};                             // used by whoever began last: where a newcomer begins
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace flightplan::service
