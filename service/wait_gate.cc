#include "service/wait_gate.h"

#include <algorithm>

namespace flightplan::service {
namespace {

// The share of the newest interval in the mean: the last few dozen calls decide.
constexpr double kNewest = 1.0 / 16;

}  // namespace

WaitGate::WaitGate(int workers, WaitLimits limits)
    : kept_(static_cast<size_t>(std::max(1, workers)) * limits.kept), limits_(limits) {}

WaitGate::Duration WaitGate::Limit(Time now) const {
  return refused_.has_value() && now - *refused_ < limits_.calm ? limits_.overloaded : limits_.burst;
}

WaitGate::Duration WaitGate::ExpectedWait(Time now) const {
  if (now - learned_ >= limits_.calm) return Duration::zero();
  return Duration(static_cast<Duration::rep>(static_cast<double>(waiting_.size()) * mean_interval_));
}

std::optional<WaitGate::Ticket> WaitGate::Join(Time now) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const Duration limit = Limit(now);
  // The mean says nothing of workers that are held up right now; the first in the queue does.
  const Duration first_waits = waiting_.empty() ? Duration::zero() : now - waiting_.front();
  if (IsQueue() && std::max(ExpectedWait(now), first_waits) > limit) {
    refused_ = now;
    return std::nullopt;
  }
  waiting_.push_back(now);
  return Ticket{now, limit};
}

bool WaitGate::TakeTurn(const Ticket& ticket, Time now) {
  const std::lock_guard<std::mutex> lock(mutex_);
  waiting_.pop_front();
  const bool in_time = now - ticket.joined <= ticket.longest || !IsQueue();
  if (in_time) {
    if (busy_since_.has_value()) Learn(now - *busy_since_, now);
    busy_since_ = now;
  } else {
    refused_ = now;
  }
  if (waiting_.empty()) busy_since_.reset();
  return in_time;
}

// What passes between two turns is what a call costs the pool in all, divided by its workers, at the pace that the
// machine allows them: beside other work, that takes longer than the work alone.
void WaitGate::Learn(Duration interval, Time now) {
  const double ticks = static_cast<double>(interval.count());
  const bool first = now - learned_ >= limits_.calm;
  mean_interval_ = first ? ticks : mean_interval_ + (ticks - mean_interval_) * kNewest;
  learned_ = now;
}

}  // namespace flightplan::service
