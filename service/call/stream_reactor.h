// The base of all stream reactors: it lives until gRPC and its alarm have released it, and ends at its deadline even if
// the caller does not read.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "grpcpp/alarm.h"
#include "grpcpp/server_context.h"
#include "service/call/call.h"

namespace flightplan::service {

// `Reactor`: one of gRPC's. Shared by gRPC (until OnDone), the alarm and whatever works for the call. gRPC runs no
// reaction inside StartRead, StartWrite or Finish, so these are called with `mutex_` held.
template <class Reactor>
class StreamReactor : public Reactor {
 public:
  // After it the server may be gone, and with it all that the bookkeeping reports to; the alarm's reaction may still be
  // to come and keeps only what is ours.
  void OnDone() final {
    alarm_.Cancel();
    const std::shared_ptr<StreamReactor> last = std::move(self_);
    const std::lock_guard<std::mutex> lock(mutex_);
    call_.reset();
  }

 protected:
  StreamReactor(const Edge& edge, const Metrics::Method& method, grpc::CallbackServerContext* context)
      : call_(std::in_place, edge, method, context), context_(context) {}

  // gRPC's share of this object, given up in OnDone. Before anything else is started.
  void KeepUntilDone(std::shared_ptr<StreamReactor> self) { self_ = std::move(self); }
  // For tasks; empty once the call has ended.
  const std::shared_ptr<StreamReactor>& self() const { return self_; }
  // OnDeadline comes once the call's time is over, unless the call has ended before.
  void WatchDeadline() {
    alarm_self_ = self_;  // not in the lambda: the alarm is a member, and keeps its lambda as long as it lives
    alarm_.Set(call_->deadline(), [this](bool expired) { OnAlarm(expired); });
  }
  // With the lock held.
  virtual void OnDeadline() = 0;

  // A caller that does not read would hold the call for ever. With the lock held.
  void StopWriting() {
    if (writing_ && !finished_) context_->TryCancel();
  }

  std::optional<Call> call_;  // until OnDone
  std::mutex mutex_;          // guards what follows, and what is derived from this
  bool writing_ = false;
  bool finished_ = false;

 private:
  // Called exactly once: expired, or cancelled by OnDone.
  void OnAlarm(bool expired) {
    const std::shared_ptr<StreamReactor> last = std::move(alarm_self_);
    if (!expired) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    OnDeadline();
    StopWriting();
  }

  grpc::CallbackServerContext* const context_;
  std::shared_ptr<StreamReactor> self_;  // set before any task exists
  grpc::Alarm alarm_;
  std::shared_ptr<StreamReactor> alarm_self_;
};

}  // namespace flightplan::service
