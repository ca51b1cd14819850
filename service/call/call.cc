#include "service/call/call.h"

#include <algorithm>
#include <random>

#include "absl/strings/ascii.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "google/rpc/error_details.pb.h"
#include "grpcpp/server_context.h"
#include "resolver/base/reason.h"
#include "resolver/base/status_macros.h"
#include "service/local/steady_time.h"
#include "service/observe/door_reviews.h"
#include "service/wire/status_mapping.h"

namespace flightplan::service {
namespace {

absl::string_view Header(const grpc::CallbackServerContext& context, const char* name) {
  const auto& headers = context.client_metadata();
  const auto found = headers.find(name);
  if (found == headers.end()) return {};
  return absl::string_view(found->second.data(), found->second.size());
}

std::mt19937_64& ThreadRandom() {
  thread_local std::mt19937_64 random{[] {
    std::random_device device;
    return (static_cast<uint64_t>(device()) << 32) ^ device();
  }()};
  return random;
}

bool IsIdCharacter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-';
}

bool IsLowerHex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

// Calls that are sent away come back spread out.
absl::Duration RetryDelayWithJitter() {
  return absl::Milliseconds(std::uniform_int_distribution<int>(50, 500)(ThreadRandom()));
}

LogLevel LevelOf(int code) {
  if (code == grpc::StatusCode::OK) return LogLevel::kDebug;
  return code == grpc::StatusCode::INTERNAL ? LogLevel::kError : LogLevel::kInfo;
}

}  // namespace

std::string RequestId(absl::string_view from_caller) {
  if (!from_caller.empty() && from_caller.size() <= kMaxRequestIdBytes &&
      std::all_of(from_caller.begin(), from_caller.end(), IsIdCharacter)) {
    return std::string(from_caller);
  }
  std::mt19937_64& random = ThreadRandom();
  return absl::StrCat(absl::Hex(random(), absl::kZeroPad16), absl::Hex(random(), absl::kZeroPad16));
}

absl::string_view TraceId(absl::string_view traceparent) {
  // 00-<32 hex>-<16 hex>-<2 hex>; later versions may append fields.
  if (traceparent.size() < 55 || traceparent[2] != '-' || traceparent[35] != '-' || traceparent[52] != '-') return {};
  const absl::string_view id = traceparent.substr(3, 32);
  if (!std::all_of(id.begin(), id.end(), IsLowerHex) || id.find_first_not_of('0') == absl::string_view::npos) return {};
  return id;
}

namespace {

bool HasDeadline(const grpc::CallbackServerContext& context) {
  return context.deadline() != std::chrono::system_clock::time_point::max();
}

}  // namespace

Call::Call(const Edge& edge, const Metrics::Method& method, grpc::CallbackServerContext* context)
    : edge_(edge),
      method_(method),
      context_(context),
      request_id_(RequestId(Header(*context, "x-request-id"))),
      trace_id_(TraceId(Header(*context, "traceparent"))) {
  const bool has_own = HasDeadline(*context);
  const absl::Duration usual = method.streaming ? kDefaultStreamDeadline : kDefaultUnaryDeadline;
  const absl::Duration longest = has_own ? edge.max_deadline : std::min(usual, edge.max_deadline);
  const absl::Duration own = has_own ? absl::FromChrono(context->deadline()) - absl::Now() : longest;
  ends_at_ = SteadyNow() + std::min(own, longest);
  own_limit_ = !has_own || longest < own ? longest : absl::InfiniteDuration();
  method_.started->Increment();
  context_->AddInitialMetadata("x-request-id", request_id_);
}

Call::~Call() {
  LeaveGate();
  method_.handled[static_cast<size_t>(code_)]->Increment();
  const double seconds = Seconds();
  method_.handling->Observe(seconds);
  const LogLevel level = LevelOf(code_);
  if (!edge_.log->Enabled(level)) return;
  edge_.log->Write(level, log_text_.message.empty() ? absl::string_view("call") : log_text_.message,
                   {{"request_id", request_id_},
                    {"trace_id", trace_id_},
                    {"rpc", method_.name},
                    {"code", StatusCodeLabel(code_)},
                    {"duration_ms", seconds * 1e3},
                    {"tenant", tenant()},
                    {"reason", log_text_.reason},
                    {"fields", log_text_.fields}});
}

double Call::Seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

std::string Call::WhyItEnds() const {
  if (own_limit_ == absl::InfiniteDuration()) return "the deadline passed";
  const std::string limit = absl::FormatDuration(own_limit_);
  if (HasDeadline(*context_)) {
    return absl::StrCat("this server ends every answer after ", limit,
                        " (--max_deadline): give more of the question, or that more time");
  }
  return absl::StrCat("a call without a deadline ends after ", limit, ", with one after up to ",
                      absl::FormatDuration(edge_.max_deadline), " (--max_deadline)");
}

absl::Status Call::CheckTime() const {
  if (ends_at_ <= SteadyNow()) return absl::DeadlineExceededError(WhyItEnds());
  if (context_->IsCancelled()) return absl::CancelledError("the caller went away");
  return absl::OkStatus();
}

absl::Status Call::Admit(Gated gated) {
  if (absl::Status expired = CheckTime(); !expired.ok()) {
    edge_.metrics->shed_expired->Increment();
    return expired;
  }
  FLIGHTPLAN_ASSIGN_OR_RETURN(const Caller caller, edge_.access->Check(*context_, method_.role));
  // Strangers do not write into what operators read.
  const absl::string_view review = Header(*context_, kDoorReviewHeader);
  if (!review.empty()) edge_.metrics->CountDoorReview(review);
  by_operator_ = caller.tenant != nullptr && caller.roles.Has(Role::kAdmin);
  tenant_ = caller.tenant;
  absl::Duration delay = RetryDelayWithJitter();
  if (absl::Status over = TakeFromQuota(); !over.ok()) return Refuse(over, RetryDelay(over));
  if (gated == Gated::kNo) return absl::OkStatus();
  if (tenant_ != nullptr && !tenant_->Enter()) {
    tenant_->CountShed();
    edge_.metrics->shed_tenant_in_flight->Increment();
    return Refuse(OverQuota(tenant_->name(), absl::StrCat("at most ", tenant_->concurrent(), " calls at once")), delay);
  }
  entered_tenant_ = tenant_ != nullptr;
  if (!edge_.gate->Enter() && !(edge_.idle->GiveUpOne() && edge_.gate->Enter())) {
    edge_.metrics->shed_in_flight->Increment();
    return Refuse(absl::ResourceExhaustedError("too many calls in flight"), delay);
  }
  entered_ = true;
  return absl::OkStatus();
}

absl::Status Call::RefuseQueue() {
  edge_.metrics->shed_queue->Increment();
  return Refuse(absl::ResourceExhaustedError("too much work is queued before this call"), RetryDelayWithJitter());
}

absl::Status Call::RefuseUnread() {
  return Refuse(absl::ResourceExhaustedError("too many answers wait for their readers"), RetryDelayWithJitter());
}

absl::Status Call::TakeFromQuota() {
  if (tenant_ == nullptr) return absl::OkStatus();
  const std::optional<absl::Duration> empty_for = tenant_->Take(SteadyNow());
  if (!empty_for.has_value()) return absl::OkStatus();
  tenant_->CountShed();
  edge_.metrics->shed_quota->Increment();
  const std::string limit = absl::StrCat("at most ", tenant_->calls_per_second(), " calls per second");
  return WithRetry(OverQuota(tenant_->name(), limit), *empty_for + RetryDelayWithJitter());
}

// A refusal that says when to come back, to people and to gRPC's own retries.
absl::Status Call::Refuse(absl::Status status, absl::Duration delay) {
  context_->AddTrailingMetadata("grpc-retry-pushback-ms", absl::StrCat(absl::ToInt64Milliseconds(delay)));
  return WithRetry(std::move(status), delay);
}

void Call::Describe(const Answer& answer) {
  const StoredAnswer& stored = *answer.stored;
  context_->AddTrailingMetadata("x-flightplan-decision-id", stored.decision_id);
  context_->AddTrailingMetadata("x-flightplan-catalog-revision", stored.catalog_revision);
  context_->AddTrailingMetadata("x-flightplan-evidence-revision", stored.evidence_revision);
  if (stored.evidence_stale) context_->AddTrailingMetadata("x-flightplan-evidence-state", "stale");
  context_->AddTrailingMetadata("x-flightplan-cache", std::string(CacheUseName(answer.cache)));
}

void Call::LogDecision(const Answer& answer) const {
  if (!edge_.decisions->enabled()) return;
  edge_.decisions->Write({.rpc = method_.name,
                          .answer = &answer,
                          .request_id = request_id_,
                          .trace_id = trace_id_,
                          .tenant = tenant(),
                          .seconds = Seconds()});
}

// A call leaves when its answer is handed to gRPC, not when gRPC says that it is gone: callers who ask again at once
// would meet their own calls of before.
void Call::LeaveGate() {
  if (entered_) edge_.gate->Leave();
  if (entered_tenant_) tenant_->Leave();
  entered_ = entered_tenant_ = false;
}

grpc::Status Call::Finish(const absl::Status& status) {
  LeaveGate();
  grpc::Status wire = ToGrpcStatus(status, request_id_);
  code_ = static_cast<int>(wire.error_code());
  // Refusals must stay cheap: no text that nobody reads.
  if (!status.ok() && edge_.log->Enabled(LevelOf(code_))) log_text_ = LogTextOf(status);
  return wire;
}

}  // namespace flightplan::service
