// When a review ends before its end: its time is over, or whoever asked has gone.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <utility>

namespace flightplan::service {

// The API server gives up after 5 s (clients/kubernetes/webhook.yaml); what it no longer waits for keeps others
// waiting.
inline constexpr std::chrono::seconds kMaxReviewTime{3};

class ReviewStop {
 public:
  using Time = std::chrono::steady_clock::time_point;
  explicit ReviewStop(std::function<Time()> now = std::chrono::steady_clock::now)
      : now_(std::move(now)), end_(now_() + kMaxReviewTime) {}

  void CallerGone() { gone_.store(true, std::memory_order_relaxed); }  // from any thread
  bool Stopped() const { return gone_.load(std::memory_order_relaxed) || now_() >= end_; }

 private:
  const std::function<Time()> now_;
  const Time end_;
  std::atomic<bool> gone_{false};
};

}  // namespace flightplan::service
