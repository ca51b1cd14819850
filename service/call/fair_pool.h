// Shares threads among tenants by the time that their work takes. One tenant has at most `share` of them at a
// time, and there are twice as many: another one's task finds a thread, and the system divides the processor between
// them. Among waiting tenants the one that has had the least time goes first. An idle tenant saves up no time.
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
  // `yields`: where processors are short its threads leave them to others of this machine, to answers first of all.
  enum class Yields { kNo, kYes };
  // `after_task` is called by the thread that ran a task, once nothing of the task is left. Null: nothing is.
  explicit FairPool(int share, Yields yields = Yields::kNo, std::function<void()> after_task = nullptr);
  // Runs what is queued, then ends.
  ~FairPool();
  FairPool(const FairPool&) = delete;
  FairPool& operator=(const FairPool&) = delete;

  // `tenant` is charged for the processor time of its tasks (Tenant::Charge); null: callers are not asked who they are.
  void Submit(Tenant* tenant, std::function<void()> task);
  // False, and nothing is queued: `max_queued` tasks of this tenant wait already.
  bool TrySubmit(Tenant* tenant, std::function<void()> task, size_t max_queued);
  // Also false where `max_of_all` tasks submitted this way wait, of all tenants; half as many where one of this tenant
  // waits already, so that a few greedy ones do not keep the others out.
  bool TrySubmit(Tenant* tenant, std::function<void()> task, size_t max_queued, size_t max_of_all);
  // Threads that one tenant has at a time.
  int share() const { return share_; }

 private:
  using Time = std::chrono::nanoseconds;

  struct Task {
    std::function<void()> run;
    bool counted;  // in waiting_
  };

  // A tenant's.
  struct Line {
    Tenant* tenant;
    std::deque<Task> tasks;
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
  const std::function<void()> after_task_;
  std::mutex mutex_;  // guards everything below
  std::condition_variable wake_;
  std::map<Tenant*, Line> lines_;           // for good, as the tenants are (call/tenant.h)
  std::set<std::pair<Time, Line*>> ready_;  // with a task to begin, the next in front
  Time now_{0};                             // time used by the tenant that began last; a new tenant begins there
  size_t waiting_ = 0;                      // tasks that all tenants have a limit on together
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace flightplan::service
