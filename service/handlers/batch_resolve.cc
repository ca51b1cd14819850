#include "service/handlers/batch_resolve.h"

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "google/protobuf/arena.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/rpc/error_details.pb.h"
#include "grpcpp/server_context.h"
#include "resolver/base/utf8.h"
#include "resolver/base/work.h"
#include "resolver/normalize/violations.h"
#include "resolver/resolver.h"
#include "service/call/stream_reactor.h"
#include "service/handlers/answer.h"
#include "service/wire/call_arena.h"
#include "service/wire/raw_message.h"
#include "service/wire/status_mapping.h"

namespace flightplan::service {
namespace {

absl::Status BadItem(absl::string_view field, absl::string_view description) {
  google::rpc::BadRequest details;
  auto* violation = details.add_field_violations();
  violation->set_field(std::string(field));
  violation->set_description(std::string(description));
  absl::Status status = absl::InvalidArgumentError(absl::StrCat(field, ": ", description));
  status.SetPayload(kBadRequestPayload, absl::Cord(details.SerializeAsString()));
  return status;
}

absl::StatusOr<Answer> AnswerItem(const v1::BatchResolveRequest& item, AnswerSource* answers) {
  if (item.request_id().size() > kMaxBatchIdBytes) {
    return BadItem("request_id", absl::StrCat("has ", item.request_id().size(), " bytes, at most ", kMaxBatchIdBytes));
  }
  switch (item.request_case()) {
    case v1::BatchResolveRequest::kResolve:
      return answers->Resolve(item.resolve());
    case v1::BatchResolveRequest::kValidate:
      return answers->Validate(item.validate());
    case v1::BatchResolveRequest::REQUEST_NOT_SET:
      break;
  }
  return BadItem("request", "is required: resolve or validate");
}

// The response around a stored answer, without copying it: `request_id` and the tag and length of the answer's field,
// then the stored bytes.
grpc::ByteBuffer Wrap(const v1::BatchResolveRequest& item, const grpc::Slice& answer) {
  v1::BatchResolveResponse head;
  head.set_request_id(item.request_id());
  std::string bytes = head.SerializeAsString();
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    const int field = item.has_resolve() ? v1::BatchResolveResponse::kResolveFieldNumber
                                         : v1::BatchResolveResponse::kValidateFieldNumber;
    constexpr uint32_t kLengthDelimited = 2;
    coded.WriteTag(static_cast<uint32_t>(field) << 3 | kLengthDelimited);
    coded.WriteVarint32(static_cast<uint32_t>(answer.size()));
  }
  const grpc::Slice slices[] = {grpc::Slice(bytes), answer};
  return grpc::ByteBuffer(slices, 2);
}

// Shared with the tasks in the pool. Nothing can be started once Finish was.
class BatchCall final : public StreamReactor<grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>> {
 public:
  BatchCall(const Edge& edge, const Metrics::Method& method, AnswerSource* answers, BatchWorkers* workers,
            grpc::CallbackServerContext* context)
      : StreamReactor(edge, method, context), answers_(answers), workers_(*workers) {}

  void Start(std::shared_ptr<BatchCall> self) {
    KeepUntilDone(std::move(self));
    if (absl::Status refused = call_->Admit(Gated::kYes); !refused.ok()) {
      const std::lock_guard<std::mutex> lock(mutex_);
      End(refused);
      return;
    }
    WatchDeadline();
    const std::lock_guard<std::mutex> lock(mutex_);
    Advance();
  }

  void OnReadDone(bool ok) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    reading_ = false;
    if (!ok) {
      no_more_reads_ = true;
    } else if (!ending_.has_value()) {
      call_->CountReceived();
      ++in_work_;
      Hold(incoming_.Length());
      workers_.pool.Submit(call_->payer(), [keep = Self(), item = incoming_] { keep->Work(item, kMaxAnswerWork); });
    }
    incoming_.Clear();
    Advance();
  }

  void OnWriteDone(bool ok) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    writing_ = false;
    StopWatching();  // it reads
    LetGo(outgoing_.front().Length());
    outgoing_.pop_front();
    if (ok) call_->CountSent();
    Advance();
  }

  void OnCancel() override {
    const std::lock_guard<std::mutex> lock(mutex_);
    absl::Status why = call_->CheckTime();
    End(why.ok() ? absl::CancelledError("the caller went away") : why);
  }

 private:
  // For a task; while the call has not ended.
  std::shared_ptr<BatchCall> Self() { return std::static_pointer_cast<BatchCall>(self()); }

  void OnDeadline() override { End(absl::DeadlineExceededError("the deadline passed")); }

  // In the pool; an item that needs a search comes again on a thread of the searches.
  void Work(const grpc::ByteBuffer& buffer, uint64_t units) {
    const RequestBytes bytes(buffer);
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (ending_.has_value()) {
        Done(bytes.view().size(), std::nullopt);
        return;
      }
    }
    google::protobuf::Arena arena(CallArenaOptions());
    auto* item = google::protobuf::Arena::CreateMessage<v1::BatchResolveRequest>(&arena);
    if (!item->ParseFromArray(bytes.view().data(), static_cast<int>(bytes.view().size()))) {
      const std::lock_guard<std::mutex> lock(mutex_);
      End(MalformedRequest(item->GetTypeName()));
      Done(bytes.view().size(), std::nullopt);
      return;
    }
    const flightplan::Work work(units, [this] { return !call_->CheckTime().ok(); });
    const bool searching = units == kMaxSearchWork;
    const absl::Status over = searching ? absl::OkStatus() : call_->TakeFromQuota();
    const absl::StatusOr<Answer> answer = over.ok() ? AnswerItem(*item, answers_) : over;
    if (!searching && NeedsSearch(answer.status())) {
      const std::lock_guard<std::mutex> lock(mutex_);
      workers_.searches->Submit(call_->payer(), [keep = Self(), buffer] { keep->Work(buffer, kMaxSearchWork); });
      return;
    }
    grpc::ByteBuffer response;
    if (answer.ok()) {
      call_->LogDecision(*answer);
      response = Wrap(*item, answer->stored->bytes);
    } else {
      auto* error = google::protobuf::Arena::CreateMessage<v1::BatchResolveResponse>(&arena);
      error->set_request_id(std::string(Utf8Prefix(item->request_id(), kMaxBatchIdBytes)));
      *error->mutable_error() = ToRpcStatus(answer.status(), call_->request_id());
      response = BufferOf(*error);
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    Done(bytes.view().size(), std::move(response));
  }

  // An item has left the pool. With the lock held.
  void Done(size_t request_bytes, std::optional<grpc::ByteBuffer> response) {
    --in_work_;
    LetGo(request_bytes);
    if (response.has_value() && !ending_.has_value()) {
      Hold(response->Length());
      outgoing_.push_back(*std::move(response));
    }
    Advance();
  }

  void Hold(size_t bytes) {
    held_bytes_ += bytes;
    workers_.held.Add(call_->payer(), bytes);
  }
  void LetGo(size_t bytes) {
    held_bytes_ -= bytes;
    workers_.held.Remove(call_->payer(), bytes);
  }

  // Ends the call as soon as nothing is under way; answers not yet written are dropped. The first reason counts.
  void End(const absl::Status& status) {
    if (ending_.has_value()) return;
    ending_ = status;
    while (outgoing_.size() > (writing_ ? 1u : 0u)) {
      LetGo(outgoing_.back().Length());
      outgoing_.pop_back();
    }
    Advance();
  }

  // Where another call wants the place of this one, whose caller has it wait.
  bool GiveUp(uint64_t id) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (idle_ != id) return false;  // it has had something to do since, and waits anew
    idle_ = 0;
    if (!IsIdle()) return false;
    End(absl::ResourceExhaustedError(
        "the place of this stream, which neither sent nor read anything, was wanted: open another one"));
    call_->LeaveGate();
    StopWriting();
    return true;
  }

  // The caller sends nothing, or does not read what is written.
  bool IsIdle() const { return !ending_.has_value() && (writing_ || (reading_ && in_work_ == 0 && outgoing_.empty())); }
  void StopWatching() {
    if (idle_ != 0) call_->edge().idle->Remove(std::exchange(idle_, 0));
  }

  void WatchIdleness() {
    if (!IsIdle()) return StopWatching();
    if (idle_ != 0) return;
    idle_ = call_->edge().idle->Add(call_->payer(), [stream = std::weak_ptr<BatchCall>(Self())](uint64_t id) {
      const std::shared_ptr<BatchCall> alive = stream.lock();
      return alive != nullptr && alive->GiveUp(id);
    });
  }

  // Starts whatever can start now. With the lock held.
  void Advance() {
    if (finished_) return;
    if (!writing_ && !outgoing_.empty()) {
      writing_ = true;
      StartWrite(&outgoing_.front());
    }
    const size_t in_flight = static_cast<size_t>(in_work_) + outgoing_.size();
    const bool has_room = in_flight < size_t{kMaxBatchInFlight} && held_bytes_ < kMaxBatchHeldBytes &&
                          workers_.held.HasRoom(call_->payer());
    if (!reading_ && !no_more_reads_ && !ending_.has_value() && (has_room || in_flight == 0)) {
      reading_ = true;
      StartRead(&incoming_);
    }
    WatchIdleness();
    if (in_work_ == 0 && outgoing_.empty() && (no_more_reads_ || ending_.has_value())) {
      finished_ = true;
      Finish(call_->Finish(ending_.value_or(absl::OkStatus())));
    }
  }

  AnswerSource* const answers_;
  BatchWorkers& workers_;

  // Guarded by mutex_.
  grpc::ByteBuffer incoming_;
  std::deque<grpc::ByteBuffer> outgoing_;  // the first is being written while writing_
  std::optional<absl::Status> ending_;
  int in_work_ = 0;
  size_t held_bytes_ = 0;
  uint64_t idle_ = 0;  // its number among the idle ones; 0: it is none of them
  bool reading_ = false;
  bool no_more_reads_ = false;
};

}  // namespace

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* HandleBatchResolve(const Edge& edge,
                                                                                const Metrics::Method& method,
                                                                                AnswerSource* answers,
                                                                                BatchWorkers* workers,
                                                                                grpc::CallbackServerContext* context) {
  auto call = std::make_shared<BatchCall>(edge, method, answers, workers, context);
  BatchCall* const reactor = call.get();
  reactor->Start(std::move(call));
  return reactor;
}

}  // namespace flightplan::service
