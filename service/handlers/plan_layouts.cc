#include "service/handlers/plan_layouts.h"

#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "service/answer_source.h"
#include "service/raw_message.h"
#include "service/status_mapping.h"

namespace flightplan::service {
namespace {

// Progress is for people.
constexpr std::chrono::milliseconds kProgressEvery{200};
// A search stops so long before the deadline that its answer still arrives.
constexpr std::chrono::milliseconds kSpareTime{200};

// Shared by gRPC (until OnDone) and the task in the pool. StartWrite and Finish are called with the lock held.
class PlanCall final : public grpc::ServerWriteReactor<grpc::ByteBuffer> {
 public:
  PlanCall(const Edge& edge, const Metrics::Method& method, const ResolverBackend* backend,
           grpc::CallbackServerContext* context, grpc::ByteBuffer request)
      : call_(edge, method, context), backend_(backend), request_(std::move(request)) {}

  void Start(std::shared_ptr<PlanCall> self, WorkerPool* pool) {
    self_ = std::move(self);
    call_.CountReceived();
    if (absl::Status refused = call_.Admit(Gated::kYes); !refused.ok()) {
      const std::lock_guard<std::mutex> lock(mutex_);
      End(refused);
      return;
    }
    const size_t max_queued = kMaxQueuedSearches * static_cast<size_t>(pool->threads());
    if (!pool->TrySubmit([keep = self_] { keep->Work(); }, max_queued, std::chrono::hours(1))) {
      const std::lock_guard<std::mutex> lock(mutex_);
      End(call_.RefuseQueue());
    }
  }

  void OnWriteDone(bool ok) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    writing_ = false;
    outgoing_.pop_front();
    if (ok) call_.CountSent();
    Advance();
  }
  void OnCancel() override {
    gone_.store(true, std::memory_order_relaxed);
    // One that has not had its turn ends now.
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!started_) End(absl::CancelledError("the caller went away"));
  }
  void OnDone() override { const std::shared_ptr<PlanCall> last = std::move(self_); }

 private:
  // In the pool.
  void Work() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (ending_.has_value()) return;
      started_ = true;
      if (const absl::Status late = call_.CheckTime(); !late.ok()) {
        End(late);
        return;
      }
    }
    v1::PlanLayoutsRequest request;
    const RequestBytes bytes(request_);
    absl::Status status;
    v1::PlanLayoutsResponse answer;
    if (!request.ParseFromArray(bytes.view().data(), static_cast<int>(bytes.view().size()))) {
      status = MalformedRequest(request.GetTypeName());
    } else {
      PlanHooks hooks;
      hooks.progress = [this](const PlanProgress& progress) { return Report(progress); };
      const EvidenceSource* const source = call_.edge().evidence;
      const auto evidence = source == nullptr ? std::make_shared<const EvidenceSnapshot>() : source->Current();
      status = backend_->PlanLayouts(request, *evidence, hooks, answer.mutable_result());
    }
    if (status.ok() && gone_.load(std::memory_order_relaxed)) status = absl::CancelledError("the caller went away");
    if (status.ok() && answer.ByteSizeLong() > kMaxAnswerBytes) {
      status = absl::ResourceExhaustedError(absl::StrCat("the answer has ", answer.ByteSizeLong(), " bytes, at most ",
                                                         kMaxAnswerBytes, ": ask for fewer plans"));
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    if (status.ok()) {
      outgoing_.push_back(BufferOf(answer));
      Advance();
    }
    End(status);
  }

  // In the pool; false ends the search.
  bool Report(const PlanProgress& progress) {
    if (gone_.load(std::memory_order_relaxed)) return false;
    const auto now = std::chrono::system_clock::now();
    if (now + kSpareTime > call_.deadline()) return false;
    if (now < next_report_) return true;
    next_report_ = now + kProgressEvery;
    v1::PlanLayoutsResponse event;
    event.mutable_progress()->set_done_ratio(progress.done_ratio);
    event.mutable_progress()->set_judged_count(progress.judged);
    if (progress.best_us > 0) event.mutable_progress()->set_best_step_time_us(progress.best_us);
    const std::lock_guard<std::mutex> lock(mutex_);
    if (outgoing_.empty()) outgoing_.push_back(BufferOf(event));  // a slow reader misses some
    Advance();
    return true;
  }

  void End(const absl::Status& status) {
    if (ending_.has_value()) return;
    ending_ = status;
    Advance();
  }

  // Starts whatever can start now. With the lock held.
  void Advance() {
    if (finished_ || writing_) return;
    if (!outgoing_.empty()) {
      writing_ = true;
      StartWrite(&outgoing_.front());
    } else if (ending_.has_value()) {
      finished_ = true;
      Finish(call_.Finish(*ending_));
    }
  }

  Call call_;
  const ResolverBackend* const backend_;
  const grpc::ByteBuffer request_;
  std::atomic<bool> gone_{false};
  std::chrono::system_clock::time_point next_report_ = std::chrono::system_clock::now() + kProgressEvery;

  std::mutex mutex_;  // guards everything below
  std::shared_ptr<PlanCall> self_;
  std::deque<grpc::ByteBuffer> outgoing_;  // the first is being written while writing_
  std::optional<absl::Status> ending_;
  bool started_ = false;
  bool writing_ = false;
  bool finished_ = false;
};

}  // namespace

grpc::ServerWriteReactor<grpc::ByteBuffer>* HandlePlanLayouts(const Edge& edge, const Metrics::Method& method,
                                                              const ResolverBackend* backend, WorkerPool* pool,
                                                              grpc::CallbackServerContext* context,
                                                              const grpc::ByteBuffer* request) {
  auto call = std::make_shared<PlanCall>(edge, method, backend, context, *request);
  PlanCall* const reactor = call.get();
  reactor->Start(std::move(call), pool);
  return reactor;
}

}  // namespace flightplan::service
