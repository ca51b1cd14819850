#include "service/probe/run_probe.h"

#include <signal.h>
#include <sys/wait.h>

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "resolver/base/reason.h"
#include "service/call/event_stream.h"
#include "service/wire/raw_message.h"
#include "service/wire/status_mapping.h"

namespace flightplan::service {
namespace {

constexpr absl::Duration kRetry = absl::Seconds(5);

absl::Status Busy(absl::string_view message) {
  return WithRetry(WithReason(absl::UnavailableError(message), "PROBE_BUSY"), kRetry);
}

class ProbeCall final : public EventStream {
 public:
  ProbeCall(const Edge& edge, const Metrics::Method& method, ProbeContext* probe, grpc::CallbackServerContext* context,
            const grpc::ByteBuffer& request)
      : EventStream(edge, method, context), context_(*probe), request_(request) {}

  void Start(const std::shared_ptr<ProbeCall>& self) {
    Begin(self);
    call().CountReceived();
    absl::Status refused = call().Admit(Gated::kYes);
    if (refused.ok()) refused = Enter();
    if (!refused.ok()) return End(refused);
    context_.pool->Submit([self] { self->Work(); });
  }

  void OnCancel() override { stop_.Stop(); }

 private:
  // Not OK: nothing was taken. Else Work gives the probe back.
  absl::Status Enter() {
    if (!context_.enabled) {
      return WithReason(
          absl::FailedPreconditionError(
              "this server does not probe: start it with --probe on a node whose GPUs may be measured, or "
              "run `flightplan probe` there and import the profile"),
          "PROBE_DISABLED");
    }
    if (const int pid = context_.stuck_pid.load(); pid != 0) {
      // Ours, so it is a zombie once it has died.
      if (waitpid(pid, nullptr, WNOHANG) == 0) {
        context_.count(ProbeResult::kBusy);
        return Busy(absl::StrCat("the last worker (process ", pid, ") hangs in the GPU's driver and cannot be killed"));
      }
      context_.stuck_pid = 0;
    }
    if (context_.running.exchange(true)) {
      context_.count(ProbeResult::kBusy);
      return Busy("a probe is running on this server; one at a time");
    }
    return absl::OkStatus();
  }

  // In the pool.
  void Work() {
    v1::RunProbeResponse answer;
    const bool in_time = TakeTurn();
    const absl::Status status = in_time ? Run(answer.mutable_profile()) : absl::OkStatus();
    context_.running = false;
    if (in_time) End(status, &answer);
  }

  absl::Status Run(v1::HardwareProfile* profile) {
    ProbeJob job;
    const RequestBytes bytes(request_);
    if (!job.request.ParseFromArray(bytes.view().data(), static_cast<int>(bytes.view().size()))) {
      return MalformedRequest(job.request.GetTypeName());
    }
    job.catalog = context_.catalog->Get();
    job.worker = context_.worker;
    job.fake = context_.fake;
    job.most = absl::FromChrono(call().deadline()) - absl::Now();
    ProbeEnd end = RunProbeWorker(job, stop_, [this](const v1::ProbeProgress& progress) { Tell(progress); });
    context_.count(end.result);
    context_.stuck_pid = end.stuck_pid;
    if (!end.status.ok()) return end.status;
    // What a fake device replayed is shown, and never kept.
    if (end.profile.kind() == "synthetic" || end.profile.rows_size() == 0) {
      *profile = std::move(end.profile);
      return absl::OkStatus();
    }
    absl::StatusOr<v1::HardwareProfile> stored = context_.store->Put(end.profile);
    if (stored.ok()) {
      *profile = *std::move(stored);
    } else {
      *profile = std::move(end.profile);
      profile->add_notes(absl::StrCat("not stored: ", stored.status().message()));
    }
    return absl::OkStatus();
  }

  void Tell(const v1::ProbeProgress& progress) {
    v1::RunProbeResponse event;
    *event.mutable_progress() = progress;
    Report(event);
  }

  ProbeContext& context_;
  const grpc::ByteBuffer request_;
  StopSwitch stop_;
};

}  // namespace

grpc::ServerWriteReactor<grpc::ByteBuffer>* HandleRunProbe(const Edge& edge, const Metrics::Method& method,
                                                           ProbeContext* probe, grpc::CallbackServerContext* context,
                                                           const grpc::ByteBuffer* request) {
  auto call = std::make_shared<ProbeCall>(edge, method, probe, context, *request);
  call->Start(call);
  return call.get();
}

}  // namespace flightplan::service
