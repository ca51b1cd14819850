#include "service/handlers/plan_layouts.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/base/status_macros.h"
#include "resolver/base/work.h"
#include "service/call/answer_source.h"
#include "service/call/event_stream.h"
#include "service/handlers/answer.h"
#include "service/handlers/search_times.h"
#include "service/wire/raw_message.h"
#include "service/wire/status_mapping.h"

namespace flightplan::service {
namespace {

// Progress is for people.
constexpr std::chrono::milliseconds kProgressEvery{200};

class PlanCall final : public EventStream {
 public:
  PlanCall(const Edge& edge, const Metrics::Method& method, const ResolverBackend* backend,
           grpc::CallbackServerContext* context, const grpc::ByteBuffer& request)
      : EventStream(edge, method, context), backend_(backend), request_(request) {}

  void Start(const std::shared_ptr<PlanCall>& self, FairPool* searches) {
    Begin(self);
    call().CountReceived();
    if (absl::Status refused = call().Admit(Gated::kYes); !refused.ok()) return End(refused);
    const size_t max_queued = kMaxQueuedSearches * static_cast<size_t>(searches->share());
    if (!searches->TrySubmit(
            call().payer(), [self] { self->Work(); }, max_queued))
      End(call().RefuseQueue());
  }

  void OnCancel() override {
    gone_.store(true, std::memory_order_relaxed);
    EndIfWaiting(absl::CancelledError("the caller went away"));
  }

 private:
  using Clock = std::chrono::steady_clock;

  // In the pool.
  void Work() {
    if (!TakeTurn()) return;
    v1::PlanLayoutsResponse answer;
    End(Search(&answer), &answer);
  }

  absl::Status Search(v1::PlanLayoutsResponse* answer) {
    FLIGHTPLAN_RETURN_IF_ERROR(call().CheckTime());
    v1::PlanLayoutsRequest request;
    const RequestBytes bytes(request_);
    if (!request.ParseFromArray(bytes.view().data(), static_cast<int>(bytes.view().size()))) {
      return MalformedRequest(request.GetTypeName());
    }
    const auto now = Clock::now();
    const Clock::duration left = call().deadline() - std::chrono::system_clock::now();
    const SearchTimes ends(now, left);
    search_ends_ = ends.search;
    const flightplan::Work work(std::numeric_limits<uint64_t>::max(), [this, ends] {
      return gone_.load(std::memory_order_relaxed) || Clock::now() > ends.plans;
    });
    PlanHooks hooks;
    hooks.progress = [this](const PlanProgress& progress) { return Tell(progress); };
    hooks.write_on = [this, ends] { return !gone_.load(std::memory_order_relaxed) && Clock::now() < ends.writing; };
    hooks.max_answer_bytes = kMaxAnswerBytes;
    const EvidenceSource* const source = call().edge().evidence;
    const auto evidence = source == nullptr ? std::make_shared<const EvidenceSnapshot>() : source->Current();
    FLIGHTPLAN_RETURN_IF_ERROR(backend_->PlanLayouts(request, *evidence, hooks, answer->mutable_result()));
    if (gone_.load(std::memory_order_relaxed)) return absl::CancelledError("the caller went away");
    if (answer->ByteSizeLong() > kMaxAnswerBytes) {
      return absl::ResourceExhaustedError(absl::StrCat("the answer has ", answer->ByteSizeLong(), " bytes, at most ",
                                                       kMaxAnswerBytes, ": ask for fewer plans"));
    }
    return absl::OkStatus();
  }

  // False ends the search.
  bool Tell(const PlanProgress& progress) {
    if (gone_.load(std::memory_order_relaxed)) return false;
    const auto now = Clock::now();
    if (now > search_ends_) return false;
    if (now < next_report_) return true;
    next_report_ = now + kProgressEvery;
    v1::PlanLayoutsResponse event;
    event.mutable_progress()->set_done_ratio(progress.done_ratio);
    event.mutable_progress()->set_judged_count(progress.judged);
    if (progress.best_us > 0) event.mutable_progress()->set_best_step_time_us(progress.best_us);
    Report(event);
    return true;
  }

  const ResolverBackend* const backend_;
  const grpc::ByteBuffer request_;
  std::atomic<bool> gone_{false};
  Clock::time_point search_ends_;
  Clock::time_point next_report_ = Clock::now() + kProgressEvery;
};

}  // namespace

grpc::ServerWriteReactor<grpc::ByteBuffer>* HandlePlanLayouts(const Edge& edge, const Metrics::Method& method,
                                                              const ResolverBackend* backend, FairPool* searches,
                                                              grpc::CallbackServerContext* context,
                                                              const grpc::ByteBuffer* request) {
  auto call = std::make_shared<PlanCall>(edge, method, backend, context, *request);
  call->Start(call, searches);
  return call.get();
}

}  // namespace flightplan::service
