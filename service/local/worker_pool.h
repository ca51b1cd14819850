// A fixed number of threads and one queue. Submit leaves it to the caller to bound what is queued.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace flightplan::service {

class WorkerPool {
 public:
  explicit WorkerPool(int threads);
  // Runs what is queued, then ends.
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  void Submit(std::function<void()> task);
  // False, and nothing is queued: `max_queued` tasks wait already.
  bool TrySubmit(std::function<void()> task, size_t max_queued);
  int threads() const { return static_cast<int>(threads_.size()); }

 private:
  void Run();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> tasks_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace flightplan::service
