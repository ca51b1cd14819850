// Wraps every rpc in what all of them need: identity, admission, metrics, log, status. The handlers do not depend on
// it.
#pragma once

#include <atomic>
#include <chrono>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "grpcpp/support/server_callback.h"
#include "service/call/access.h"
#include "service/call/decision_log.h"
#include "service/call/idle_streams.h"
#include "service/call/unread_answers.h"
#include "service/evidence/evidence_registry.h"
#include "service/local/steady_time.h"
#include "service/observe/log.h"
#include "service/observe/log_text.h"
#include "service/observe/metrics.h"

namespace flightplan::service {

inline constexpr int kInFlightPerCore = 64;
// A call without a deadline of its own ends after this.
inline constexpr absl::Duration kDefaultUnaryDeadline = absl::Seconds(10);
inline constexpr absl::Duration kDefaultStreamDeadline = absl::Seconds(120);
inline constexpr size_t kMaxRequestIdBytes = 128;

// Counts accepted calls and refuses those beyond the limit.
class InFlightGate {
 public:
  explicit InFlightGate(int64_t limit) : limit_(limit) {}
  // False: full. A true one is paired with Leave().
  bool Enter() {
    if (count_.fetch_add(1, std::memory_order_relaxed) < limit_) return true;
    Leave();
    return false;
  }
  void Leave() { count_.fetch_sub(1, std::memory_order_relaxed); }
  int64_t count() const { return count_.load(std::memory_order_relaxed); }

 private:
  const int64_t limit_;
  std::atomic<int64_t> count_{0};
};

// What all calls share. Outlives them.
struct Edge {
  Metrics* metrics;
  Log* log;
  DecisionLog* decisions;
  InFlightGate* gate;
  absl::Duration max_deadline;
  const Access* access;
  const EvidenceSource* evidence = nullptr;  // null: none
  UnreadAnswers* unread = nullptr;
  IdleStreams* idle = nullptr;
};

// The caller's id when it is well formed (1 to 128 of [A-Za-z0-9._-]), else a fresh one.
std::string RequestId(absl::string_view from_caller);
// The trace id of a W3C traceparent header; empty when it is malformed.
absl::string_view TraceId(absl::string_view traceparent);

enum class Gated { kYes, kNo };  // Get and List calls are answered under any load

// The bookkeeping of one call, from its arrival to its end.
class Call {
 public:
  Call(const Edge& edge, const Metrics::Method& method, grpc::CallbackServerContext* context);
  ~Call();  // the call has ended
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // Not OK: the call is refused before any work (expired, cancelled, no right to it, over the tenant's quota, too many
  // in flight).
  absl::Status Admit(Gated gated);
  // RESOURCE_EXHAUSTED: what is queued before this call takes too long.
  absl::Status RefuseQueue();
  // RESOURCE_EXHAUSTED: answers that nobody reads hold too much.
  absl::Status RefuseUnread();
  // Takes one more call from the tenant's quota: for every item of a stream.
  absl::Status TakeFromQuota();
  // Not OK: the caller has gone or its time is over.
  absl::Status CheckTime() const;
  // When the call must end: its own deadline, or the server's where that is earlier.
  // By the clock as it is now: one that is set while the call runs moves it along.
  std::chrono::system_clock::time_point deadline() const {
    return absl::ToChronoTime(absl::Now() + (ends_at_ - SteadyNow()));
  }
  // Trailing metadata of an answer.
  void Describe(const Answer& answer);
  void LogDecision(const Answer& answer) const;
  // The work is done, or waits where something else bounds it: the place is another call's, however long the caller
  // takes to read the answer.
  void LeaveGate();
  // The status to finish with; from here on the call counts as having ended so.
  grpc::Status Finish(const absl::Status& status);

  void CountReceived() { method_.received->Increment(); }
  void CountSent() { method_.sent->Increment(); }
  const std::string& request_id() const { return request_id_; }
  // The tenant that calls; empty: nobody is asked who they are.
  absl::string_view tenant() const { return tenant_ == nullptr ? absl::string_view() : tenant_->name(); }
  // The same for those who share by it; null: nobody is asked who they are.
  Tenant* payer() const { return tenant_; }
  // The caller's token or certificate says that it runs this service.
  bool by_operator() const { return by_operator_; }
  const Edge& edge() const { return edge_; }

 private:
  double Seconds() const;
  std::string WhyItEnds() const;  // whose limit it was
  absl::Status Refuse(absl::Status status, absl::Duration delay);

  const Edge& edge_;
  const Metrics::Method& method_;
  grpc::CallbackServerContext* const context_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  absl::Duration ends_at_;    // as SteadyNow counts
  absl::Duration own_limit_;  // of the server, where it ends the call; infinite: the caller's deadline does
  std::string request_id_;
  std::string trace_id_;
  Tenant* tenant_ = nullptr;  // null: nobody is asked who they are
  bool by_operator_ = false;
  bool entered_ = false;
  bool entered_tenant_ = false;
  int code_ = 1;      // what the call ended with; cancelled until it is finished
  LogText log_text_;  // what went wrong
};

// A unary call: made by the handler, ended by it or by whom it hands the call to.
class UnaryCall final {
 public:
  // `answer`: where the handler puts it before the call ends.
  UnaryCall(const Edge& edge, const Metrics::Method& method, grpc::CallbackServerContext* context,
            const grpc::ByteBuffer* answer)
      : call_(edge, method, context), answer_(*answer), reactor_(new AnswerReactor(edge.unread, context)) {}

  Call& call() { return call_; }
  // For the handler to return. Taken before the call can end.
  grpc::ServerUnaryReactor* reactor() const { return reactor_; }
  // Destroys this object: the books are closed before the caller can see the answer.
  void End(absl::Status status) {
    const size_t length = status.ok() ? answer_.Length() : 0;
    if (status.ok() && !call_.edge().unread->HasRoom(call_.payer(), length)) status = call_.RefuseUnread();
    if (status.ok()) call_.CountSent();
    const size_t bytes = status.ok() ? length : 0;
    const grpc::Status wire = call_.Finish(status);
    Tenant* const payer = call_.payer();
    AnswerReactor* const reactor = reactor_;
    delete this;
    reactor->Send(wire, payer, bytes);
  }

 private:
  ~UnaryCall() = default;

  Call call_;
  const grpc::ByteBuffer& answer_;
  AnswerReactor* const reactor_;
};

}  // namespace flightplan::service
