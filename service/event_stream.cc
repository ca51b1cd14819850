#include "service/event_stream.h"

#include "service/raw_message.h"

namespace flightplan::service {

void EventStream::KeepUntilDone(std::shared_ptr<EventStream> self) {
  self_ = self;
  alarm_self_ = std::move(self);  // not in the lambda: the alarm is a member, and keeps its lambda as long as it lives
  alarm_.Set(call_->deadline(), [this](bool expired) { OnAlarm(expired); });
}

// A task that runs ends by itself (it knows the deadline); what is written may wait for a reader for ever.
void EventStream::OnAlarm(bool expired) {
  const std::shared_ptr<EventStream> last = std::move(alarm_self_);
  if (!expired) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  expired_ = true;
  if (!started_) EndLocked(absl::DeadlineExceededError("the deadline passed"), nullptr);
  if (writing_ && !finished_) context_->TryCancel();
}

void EventStream::OnWriteDone(bool ok) {
  const std::lock_guard<std::mutex> lock(mutex_);
  writing_ = false;
  outgoing_.pop_front();
  if (ok) call_->CountSent();
  Advance();
}

// After it the server may be gone, and with it all that the bookkeeping reports to; the alarm's reaction may still be
// to come and keeps only what is ours.
void EventStream::OnDone() {
  alarm_.Cancel();
  const std::shared_ptr<EventStream> last = std::move(self_);
  const std::lock_guard<std::mutex> lock(mutex_);
  call_.reset();
}

void EventStream::Report(const google::protobuf::MessageLite& event) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (outgoing_.empty()) outgoing_.push_back(BufferOf(event));
  Advance();
}

void EventStream::End(const absl::Status& status, const google::protobuf::MessageLite* result) {
  const std::lock_guard<std::mutex> lock(mutex_);
  EndLocked(status, result);
}

bool EventStream::TakeTurn() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (ending_.has_value()) return false;
  started_ = true;
  return true;
}

void EventStream::EndIfWaiting(const absl::Status& status) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!started_) EndLocked(status, nullptr);
}

void EventStream::EndLocked(const absl::Status& status, const google::protobuf::MessageLite* result) {
  if (ending_.has_value()) return;
  call_->LeaveGate();
  const bool late = status.ok() && expired_;
  if (status.ok() && !late && result != nullptr) outgoing_.push_back(BufferOf(*result));
  ending_ = late ? absl::DeadlineExceededError("the deadline passed") : status;
  Advance();
}

void EventStream::Advance() {
  if (finished_ || writing_) return;
  if (!outgoing_.empty()) {
    writing_ = true;
    StartWrite(&outgoing_.front());
  } else if (ending_.has_value()) {
    finished_ = true;
    Finish(call_->Finish(*ending_));
  }
}

}  // namespace flightplan::service
