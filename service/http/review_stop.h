// When a review ends before its end: its time is over, or whoever asked has gone.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <utility>

#include "absl/strings/string_view.h"

namespace flightplan::service {

// The API server gives up after 2 s (clients/kubernetes/webhook.yaml); what it no longer waits for keeps others
// waiting.
inline constexpr std::chrono::seconds kMaxReviewTime{3};

class ReviewStop {
 public:
  using Time = std::chrono::steady_clock::time_point;
  explicit ReviewStop(std::function<Time()> now = std::chrono::steady_clock::now)
      : now_(std::move(now)), end_(now_() + kMaxReviewTime) {}

  void CallerGone() { gone_.store(true, std::memory_order_relaxed); }  // from any thread
  bool Stopped() const { return IsCallerGone() || now_() >= end_; }
  // Of one that has stopped: what the review says.
  absl::string_view Why() const {
    return IsCallerGone() ? "the API server no longer waits for it" : "it takes longer than the time for a review";
  }

 private:
  bool IsCallerGone() const { return gone_.load(std::memory_order_relaxed); }

  const std::function<Time()> now_;
  const Time end_;
  std::atomic<bool> gone_{false};
};

}  // namespace flightplan::service
