#include "service/call/event_stream.h"

#include "service/wire/raw_message.h"

namespace flightplan::service {

void EventStream::Begin(std::shared_ptr<EventStream> self) {
  KeepUntilDone(std::move(self));
  WatchDeadline();
}

// A task that runs ends by itself (it knows the deadline); what is written may wait for a reader for ever.
void EventStream::OnDeadline() {
  expired_ = true;
  if (!started_) EndLocked(absl::DeadlineExceededError("the deadline passed"), nullptr);
}

void EventStream::OnWriteDone(bool ok) {
  const std::lock_guard<std::mutex> lock(mutex_);
  writing_ = false;
  outgoing_.pop_front();
  if (ok) call_->CountSent();
  Advance();
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
