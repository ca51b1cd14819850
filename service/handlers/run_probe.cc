#include "service/handlers/run_probe.h"

#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "resolver/base/reason.h"
#include "service/raw_message.h"
#include "service/status_mapping.h"

namespace flightplan::service {
namespace {

constexpr absl::Duration kRetry = absl::Seconds(5);

absl::Status Busy(std::string message) {
  return WithRetry(WithReason(absl::UnavailableError(std::move(message)), "PROBE_BUSY"), kRetry);
}

// Shared by gRPC (until OnDone) and the task in the pool. StartWrite and Finish are called with the lock held.
class ProbeCall final : public grpc::ServerWriteReactor<grpc::ByteBuffer> {
 public:
  ProbeCall(const Edge& edge, const Metrics::Method& method, ProbeDesk* desk, grpc::CallbackServerContext* context,
            grpc::ByteBuffer request)
      : call_(edge, method, context), desk_(*desk), request_(std::move(request)) {}

  void Start(std::shared_ptr<ProbeCall> self) {
    self_ = std::move(self);
    call_.CountReceived();
    absl::Status refused = call_.Admit(Gated::kYes);
    if (refused.ok()) refused = Enter();
    if (!refused.ok()) {
      const std::lock_guard<std::mutex> lock(mutex_);
      End(refused);
      return;
    }
    desk_.pool->Submit([keep = self_] { keep->Work(); });
  }

  void OnWriteDone(bool ok) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    writing_ = false;
    outgoing_.pop_front();
    if (ok) call_.CountSent();
    Advance();
  }
  void OnCancel() override { stop_.Stop(); }
  void OnDone() override { const std::shared_ptr<ProbeCall> last = std::move(self_); }

 private:
  // Not OK: nothing was taken. Else Work gives the desk back.
  absl::Status Enter() {
    if (!desk_.enabled) {
      return WithReason(
          absl::FailedPreconditionError(
              "this server does not probe: start it with --probe on a node whose GPUs may be measured, or "
              "run `flightplan probe` there and import the profile"),
          "PROBE_DISABLED");
    }
    if (const int pid = desk_.stuck_pid.load(); pid != 0) {
      // Ours, so it is a zombie once it has died.
      if (waitpid(pid, nullptr, WNOHANG) == 0) {
        desk_.count(ProbeResult::kBusy);
        return Busy(absl::StrCat("the last worker (process ", pid, ") hangs in the GPU's driver and cannot be killed"));
      }
      desk_.stuck_pid = 0;
    }
    if (desk_.running.exchange(true)) {
      desk_.count(ProbeResult::kBusy);
      return Busy("a probe is running on this server; one at a time");
    }
    return absl::OkStatus();
  }

  // In the pool.
  void Work() {
    v1::RunProbeResponse answer;
    const absl::Status status = Run(answer.mutable_profile());
    desk_.running = false;
    const std::lock_guard<std::mutex> lock(mutex_);
    if (status.ok()) {
      outgoing_.push_back(BufferOf(answer));
      Advance();
    }
    End(status);
  }

  absl::Status Run(v1::HardwareProfile* profile) {
    ProbeJob job;
    const RequestBytes bytes(request_);
    if (!job.request.ParseFromArray(bytes.view().data(), static_cast<int>(bytes.view().size()))) {
      return MalformedRequest(job.request.GetTypeName());
    }
    job.worker = desk_.worker;
    job.fake = desk_.fake;
    job.most = absl::FromChrono(call_.deadline()) - absl::Now();
    ProbeEnd end = RunProbeWorker(job, stop_, [this](const v1::ProbeProgress& progress) { Report(progress); });
    desk_.count(end.result);
    desk_.stuck_pid = end.stuck_pid;
    if (!end.status.ok()) return end.status;
    // What a fake device replayed is shown, and never kept.
    if (end.profile.kind() == "synthetic" || end.profile.rows_size() == 0) {
      *profile = std::move(end.profile);
      return absl::OkStatus();
    }
    absl::StatusOr<v1::HardwareProfile> stored = desk_.store->Put(end.profile);
    *profile = stored.ok() ? *std::move(stored) : std::move(end.profile);
    if (!stored.ok()) profile->add_notes(absl::StrCat("not stored: ", stored.status().message()));
    return absl::OkStatus();
  }

  void Report(const v1::ProbeProgress& progress) {
    v1::RunProbeResponse event;
    *event.mutable_progress() = progress;
    const std::lock_guard<std::mutex> lock(mutex_);
    if (outgoing_.empty()) outgoing_.push_back(BufferOf(event));  // a slow reader misses some
    Advance();
  }

  void End(const absl::Status& status) {
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
  ProbeDesk& desk_;
  const grpc::ByteBuffer request_;
  StopSwitch stop_;

  std::mutex mutex_;  // guards everything below
  std::shared_ptr<ProbeCall> self_;
  std::deque<grpc::ByteBuffer> outgoing_;  // the first is being written while writing_
  std::optional<absl::Status> ending_;
  bool writing_ = false;
  bool finished_ = false;
};

}  // namespace

grpc::ServerWriteReactor<grpc::ByteBuffer>* HandleRunProbe(const Edge& edge, const Metrics::Method& method,
                                                           ProbeDesk* desk, grpc::CallbackServerContext* context,
                                                           const grpc::ByteBuffer* request) {
  auto call = std::make_shared<ProbeCall>(edge, method, desk, context, *request);
  ProbeCall* const reactor = call.get();
  reactor->Start(std::move(call));
  return reactor;
}

}  // namespace flightplan::service
