#include "service/call/answer_source.h"

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "google/protobuf/arena.h"
#include "resolver/base/reason.h"
#include "resolver/base/status_macros.h"
#include "resolver/base/work.h"
#include "resolver/layouts/open_layout.h"
#include "resolver/normalize/canonical_bytes.h"
#include "service/wire/call_arena.h"
#include "service/wire/status_mapping.h"

namespace flightplan::service {
namespace {

// Observes the time from construction to destruction.
class StageTimer {
 public:
  explicit StageTimer(prometheus::Histogram* stage) : stage_(stage) {}
  ~StageTimer() { stage_->Observe(std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count()); }
  StageTimer(const StageTimer&) = delete;
  StageTimer& operator=(const StageTimer&) = delete;

 private:
  prometheus::Histogram* const stage_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

size_t SizeOf(const StoredAnswer& answer) { return answer.bytes.size() + answer.replay.size(); }

absl::string_view SeverityName(Severity severity) {
  switch (severity) {
    case Severity::kError:
      return "error";
    case Severity::kWarning:
      return "warning";
    case Severity::kInfo:
      return "info";
  }
  return "unspecified";
}

// The stack of a request that may name none: the first word of the one that was answered for.
absl::string_view FrameworkOf(absl::string_view asked, absl::string_view answered) {
  if (!asked.empty()) return asked;
  const absl::string_view shown = answered.substr(0, answered.find(' '));
  return shown.empty() ? "none" : shown;
}

// What differs between the two rpcs.
struct ResolveRpc {
  using Request = v1::ResolveConfigRequest;
  static constexpr char kKind = 'R';
  static constexpr absl::string_view kName = "ResolveConfig";
  static prometheus::Histogram* Stage(const Metrics& metrics) { return metrics.stage_resolve; }
  static absl::Status Run(const ResolverBackend& backend, const Request& request, const EvidenceSnapshot& evidence,
                          ConfigAnswer* answer) {
    return backend.AnswerResolve(request, evidence, answer);
  }
  static absl::string_view Outcome(const ConfigAnswer& answer) { return answer.will_run ? "resolved" : "infeasible"; }
};

struct ValidateRpc {
  using Request = v1::ValidateConfigRequest;
  static constexpr char kKind = 'V';
  static constexpr absl::string_view kName = "ValidateConfig";
  static prometheus::Histogram* Stage(const Metrics& metrics) { return metrics.stage_validate; }
  static absl::Status Run(const ResolverBackend& backend, const Request& request, const EvidenceSnapshot& evidence,
                          ConfigAnswer* answer) {
    return backend.AnswerValidate(request, evidence, answer);
  }
  static absl::string_view Outcome(const ConfigAnswer& answer) {
    return !answer.accepted_by_stack ? "rejected" : answer.will_run ? "accepted" : "fails_later";
  }
};

}  // namespace

absl::string_view CacheUseName(CacheUse use) {
  switch (use) {
    case CacheUse::kHit:
      return "hit";
    case CacheUse::kMiss:
      return "miss";
    case CacheUse::kBypass:
      return "bypass";
  }
  return "";
}

AnswerSource::AnswerSource(const ResolverBackend* backend, Metrics* metrics, size_t cache_bytes,
                           const EvidenceSource* evidence)
    : backend_(backend), metrics_(metrics), evidence_(evidence), caching_(cache_bytes > 0), cache_(cache_bytes) {}

std::shared_ptr<const EvidenceSnapshot> AnswerSource::Evidence() const {
  return evidence_ == nullptr ? no_evidence_ : evidence_->Current();
}

template <class Rpc>
std::string AnswerSource::Key(absl::string_view request, const EvidenceSnapshot& evidence) const {
  return absl::StrCat(absl::string_view(&Rpc::kKind, 1), backend_->revision(), "/", evidence.version(),
                      absl::string_view("\0", 1), request);
}

void AnswerSource::Count(const Answer& answer) {
  switch (answer.cache) {
    case CacheUse::kHit:
      metrics_->cache_hit->Increment();
      break;
    case CacheUse::kMiss:
      metrics_->cache_miss->Increment();
      break;
    case CacheUse::kBypass:
      metrics_->cache_bypass->Increment();
      break;
  }
  for (Metrics::Counter* counter : answer.stored->counters) counter->Increment();
}

template <class Rpc>
absl::StatusOr<std::shared_ptr<const StoredAnswer>> AnswerSource::Make(const typename Rpc::Request& request,
                                                                       const EvidenceSnapshot& evidence) {
  ConfigAnswer answer;
  {
    const StageTimer timer(Rpc::Stage(*metrics_));
    FLIGHTPLAN_RETURN_IF_ERROR(Rpc::Run(*backend_, request, evidence, &answer));
  }
  const StageTimer timer(metrics_->stage_serialize);
  if (answer.bytes.size() > kMaxAnswerBytes) {
    return WithReason(absl::ResourceExhaustedError(
                          absl::StrCat("the answer has ", answer.bytes.size(), " bytes, at most ", kMaxAnswerBytes,
                                       " are sent; ask for fewer dialects or name fewer knobs")),
                      "ANSWER_TOO_LARGE");
  }
  auto stored = std::make_shared<StoredAnswer>();
  stored->bytes = grpc::Slice(answer.bytes.data(), answer.bytes.size());
  stored->decision_id = std::move(answer.digest);
  stored->catalog_revision = std::move(answer.catalog_revision);
  stored->evidence_revision = absl::StrCat(evidence.revision());
  stored->method = Rpc::kName;
  stored->evidence_stale = evidence.stale();
  if (recording_.has_value()) {
    stored->replay = MakeReplayRecord(request, *recording_, CanonicalBytes(request), answer.bytes.view());
  }
  stored->target = std::move(answer.target);
  stored->outcome = std::string(Rpc::Outcome(answer));
  stored->counters.push_back(
      &metrics_->Outcome(Rpc::kName, FrameworkOf(request.target().framework(), stored->target), stored->outcome));
  for (ConfigAnswer::Found& found : answer.findings) {
    stored->counters.push_back(&metrics_->Finding(found.rule_id, SeverityName(found.severity)));
    stored->rule_ids.push_back(std::move(found.rule_id));
  }
  return stored;
}

// `raw_key`: the key of the bytes the request came as, empty when it came inside another message.
template <class Rpc>
absl::StatusOr<Answer> AnswerSource::FromMessage(const typename Rpc::Request& request, const EvidenceSnapshot& evidence,
                                                 absl::string_view raw_key) {
  Answer answer;
  if (!caching_) {
    answer.cache = CacheUse::kBypass;
    FLIGHTPLAN_ASSIGN_OR_RETURN(answer.stored, Make<Rpc>(request, evidence));
    Count(answer);
    return answer;
  }
  // The same question written differently (order of map entries and fields) has the same canonical key.
  const std::string key = Key<Rpc>(CanonicalBytes(request), evidence);
  if (key != raw_key) answer.stored = cache_.Find(key);
  const bool known = answer.stored != nullptr;
  answer.cache = known ? CacheUse::kHit : CacheUse::kMiss;
  if (!known) {
    bool shared = false;
    const auto make = [&] { return Make<Rpc>(request, evidence); };
    // A caller that may not search itself does not wait for one that does: it is told to come back where it may.
    const std::string flight = absl::StrCat(key, Work::Affords(kOpenLayoutWork) ? "+" : "-");
    FLIGHTPLAN_ASSIGN_OR_RETURN(answer.stored, flights_.Run(flight, make, &shared));
    if (shared) {
      answer.cache = CacheUse::kHit;
    } else {
      cache_.Insert(key, answer.stored, SizeOf(*answer.stored));
    }
  }
  if (!raw_key.empty() && raw_key != key) cache_.Insert(raw_key, answer.stored, SizeOf(*answer.stored));
  Count(answer);
  return answer;
}

template <class Rpc>
absl::StatusOr<Answer> AnswerSource::FromBytesAs(absl::string_view bytes) {
  const std::shared_ptr<const EvidenceSnapshot> evidence = Evidence();  // one for the whole answer
  std::string raw_key;
  if (caching_) {
    raw_key = Key<Rpc>(bytes, *evidence);
    if (Answer answer{cache_.Find(raw_key), CacheUse::kHit}; answer.stored != nullptr) {
      Count(answer);
      return answer;
    }
  }
  google::protobuf::Arena arena(CallArenaOptions());
  auto* request = google::protobuf::Arena::CreateMessage<typename Rpc::Request>(&arena);
  {
    const StageTimer timer(metrics_->stage_parse);
    if (!request->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
      return MalformedRequest(request->GetTypeName());
    }
  }
  return FromMessage<Rpc>(*request, *evidence, raw_key);
}

std::optional<Answer> AnswerSource::Cached(AnswerRpc rpc, absl::string_view request) {
  if (!caching_) return std::nullopt;
  const std::shared_ptr<const EvidenceSnapshot> evidence = Evidence();
  const std::string key =
      rpc == AnswerRpc::kResolve ? Key<ResolveRpc>(request, *evidence) : Key<ValidateRpc>(request, *evidence);
  Answer answer{cache_.Find(key), CacheUse::kHit};
  if (answer.stored == nullptr) return std::nullopt;
  Count(answer);
  return answer;
}

absl::StatusOr<Answer> AnswerSource::FromBytes(AnswerRpc rpc, absl::string_view request) {
  return rpc == AnswerRpc::kResolve ? FromBytesAs<ResolveRpc>(request) : FromBytesAs<ValidateRpc>(request);
}

absl::StatusOr<Answer> AnswerSource::Resolve(const v1::ResolveConfigRequest& request) {
  return FromMessage<ResolveRpc>(request, *Evidence(), "");
}

absl::StatusOr<Answer> AnswerSource::Validate(const v1::ValidateConfigRequest& request) {
  return FromMessage<ValidateRpc>(request, *Evidence(), "");
}

}  // namespace flightplan::service
