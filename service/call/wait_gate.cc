#include "service/call/wait_gate.h"

#include <algorithm>

namespace flightplan::service {
namespace {

// The share of the newest interval in the mean: the last few dozen calls decide.
constexpr double kNewest = 1.0 / 16;

}  // namespace

WaitGate::WaitGate(int workers, WaitLimits limits)
    : kept_(static_cast<size_t>(std::max(1, workers)) * limits.kept), limits_(limits) {}

WaitGate::Duration WaitGate::Limit(const Line& line, Time now) const {
  return line.refused.has_value() && now - *line.refused < limits_.calm ? limits_.overloaded : limits_.burst;
}

WaitGate::Duration WaitGate::ExpectedWait(const Line& own, Time now) const {
  if (now - learned_ >= limits_.calm) return Duration::zero();
  size_t before = own.waiting.size();
  for (const auto& [caller, line] : lines_) {
    if (&line != &own) before += std::min(line.waiting.size(), own.waiting.size() + 1);
  }
  return Duration(static_cast<Duration::rep>(static_cast<double>(before) * mean_interval_));
}

std::optional<WaitGate::Ticket> WaitGate::Join(Time now, const void* caller) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Line& line = lines_[caller];
  const Duration limit = Limit(line, now);
  // The mean says nothing of workers that are held up right now; the first in the line does.
  const Duration first_waits = line.waiting.empty() ? Duration::zero() : now - line.waiting.front();
  if (IsQueue(line) && std::max(ExpectedWait(line, now), first_waits) > limit) {
    line.refused = now;
    return std::nullopt;
  }
  line.waiting.push_back(now);
  ++waiting_;
  return Ticket{now, limit, caller};
}

bool WaitGate::TakeTurn(const Ticket& ticket, Time now) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = lines_.find(ticket.caller);
  Line& line = found->second;
  line.waiting.pop_front();
  --waiting_;
  const bool in_time = now - ticket.joined <= ticket.longest || !IsQueue(line);
  if (in_time) {
    if (busy_since_.has_value()) Learn(now - *busy_since_, now);
    busy_since_ = now;
  } else {
    line.refused = now;
  }
  if (waiting_ == 0) busy_since_.reset();
  if (line.waiting.empty() && (!line.refused.has_value() || now - *line.refused >= limits_.calm)) lines_.erase(found);
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
