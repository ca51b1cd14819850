#include "service/call/fair_pool.h"

#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/time/time.h"
#include "service/call/tenant.h"

namespace flightplan::service {
namespace {

// The share of the newest task in what one is expected to take.
constexpr int kNewest = 8;
constexpr size_t kNoLimit = std::numeric_limits<size_t>::max();

std::chrono::nanoseconds ThreadTime() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

// Ten steps of niceness: a tenth of the weight that a thread without them has. Linux has them for each thread, and
// hands them on to those that it starts. Where it refuses, the thread runs as others do.
void BeNice() {
  constexpr int kSteps = 10;
  setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + kSteps);
}

}  // namespace

FairPool::FairPool(int share, Yields yields, std::function<void()> after_task)
    : share_(std::max(1, share)), after_task_(std::move(after_task)) {
  for (int i = 0; i < 2 * share_; ++i) {
    threads_.emplace_back([this, yields] {
      if (yields == Yields::kYes) BeNice();
      Run();
    });
  }
}

FairPool::~FairPool() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void FairPool::Submit(Tenant* tenant, std::function<void()> task) { TrySubmit(tenant, std::move(task), kNoLimit); }

bool FairPool::TrySubmit(Tenant* tenant, std::function<void()> task, size_t max_queued) {
  return TrySubmit(tenant, std::move(task), max_queued, kNoLimit);
}

bool FairPool::TrySubmit(Tenant* tenant, std::function<void()> task, size_t max_queued, size_t max_of_all) {
  const bool counted = max_of_all != kNoLimit;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    Line& line = lines_.try_emplace(tenant, Line{tenant}).first->second;
    if (line.tasks.size() >= max_queued) return false;
    if (counted && waiting_ >= (line.tasks.empty() ? max_of_all : max_of_all / 2)) return false;
    TakeOut(&line);
    if (line.tasks.empty() && line.running == 0) line.used = std::max(line.used, now_);
    line.tasks.push_back({std::move(task), counted});
    waiting_ += counted ? 1 : 0;
    Place(&line);
  }
  wake_.notify_one();
  return true;
}

void FairPool::TakeOut(Line* line) {
  if (line->ready) ready_.erase({line->used, line});
  line->ready = false;
}

void FairPool::Place(Line* line) {
  line->ready = !line->tasks.empty() && line->running < share_;
  if (line->ready) ready_.insert({line->used, line});
}

void FairPool::Run() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    // At the end, whoever runs the last of a line's tasks finds those that had to wait for it.
    wake_.wait(lock, [this] { return stopping_ || !ready_.empty(); });
    if (ready_.empty()) return;
    Line& line = *ready_.begin()->second;
    TakeOut(&line);
    Task task = std::move(line.tasks.front());
    line.tasks.pop_front();
    waiting_ -= task.counted ? 1 : 0;
    now_ = std::max(now_, line.used);
    const Time expected = line.a_task;
    line.used += expected;
    ++line.running;
    Place(&line);
    lock.unlock();
    const Time start = ThreadTime();
    task.run();
    task.run = nullptr;
    if (after_task_ != nullptr) after_task_();
    const Time took = ThreadTime() - start;
    if (line.tenant != nullptr) line.tenant->Charge(absl::FromChrono(took));
    lock.lock();
    TakeOut(&line);
    --line.running;
    line.used += took - expected;
    line.a_task += (took - line.a_task) / kNewest;
    Place(&line);
    if (line.ready) wake_.notify_one();
  }
}

}  // namespace flightplan::service
