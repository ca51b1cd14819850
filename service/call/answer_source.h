// Turns the bytes of a request into the bytes of its answer: cache, parse, resolve, serialize. Shared by unary calls
// and the items of a batch; it does not depend on gRPC calls.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "grpcpp/support/slice.h"
#include "service/backend/resolver_backend.h"
#include "service/call/result_cache.h"
#include "service/call/single_flight.h"
#include "service/evidence/evidence_registry.h"
#include "service/observe/metrics.h"
#include "service/observe/replay_record.h"

namespace flightplan::service {

// Every client's default for a message it receives.
inline constexpr size_t kMaxAnswerBytes = size_t{4} << 20;

enum class AnswerRpc { kResolve, kValidate };

// A finished answer. Immutable and shared between the cache and the calls that send it; `bytes` is sent as it is.
struct StoredAnswer {
  grpc::Slice bytes;
  std::string decision_id;
  std::string catalog_revision;
  std::string evidence_revision;
  std::string target;
  std::string outcome;  // "resolved", "infeasible", "accepted", "rejected"
  std::vector<std::string> rule_ids;
  absl::string_view method;  // "ResolveConfig", "ValidateConfig"
  bool evidence_stale = false;
  ReplayRecord replay;                      // for the decision log
  std::vector<Metrics::Counter*> counters;  // what every sending of this answer counts
};

enum class CacheUse { kHit, kMiss, kBypass };
absl::string_view CacheUseName(CacheUse use);

struct Answer {
  std::shared_ptr<const StoredAnswer> stored;
  CacheUse cache = CacheUse::kMiss;
};

class AnswerSource {
 public:
  // 0 cache bytes: no cache. Null evidence: there is none. All pointers must outlive this object.
  AnswerSource(const ResolverBackend* backend, Metrics* metrics, size_t cache_bytes,
               const EvidenceSource* evidence = nullptr);

  // Answers carry what the decision log needs for a replay. Before the first answer.
  void RecordForReplay(LoggedText text) { recording_ = text; }

  // INVALID_ARGUMENT when the bytes are no request; RESOURCE_EXHAUSTED when the answer is larger than kMaxAnswerBytes;
  // else what the backend says.
  absl::StatusOr<Answer> FromBytes(AnswerRpc rpc, absl::string_view request);
  // Only what the cache holds for these very bytes: no work, no wait. Nothing: not there.
  std::optional<Answer> Cached(AnswerRpc rpc, absl::string_view request);
  absl::StatusOr<Answer> Resolve(const v1::ResolveConfigRequest& request);
  absl::StatusOr<Answer> Validate(const v1::ValidateConfigRequest& request);

  size_t cache_bytes() const { return cache_.bytes(); }

 private:
  template <class Rpc>
  absl::StatusOr<Answer> FromBytesAs(absl::string_view request);
  template <class Rpc>
  absl::StatusOr<Answer> FromMessage(const typename Rpc::Request& request, const EvidenceSnapshot& evidence,
                                     absl::string_view raw_key);
  template <class Rpc>
  absl::StatusOr<std::shared_ptr<const StoredAnswer>> Make(const typename Rpc::Request& request,
                                                           const EvidenceSnapshot& evidence);
  template <class Rpc>
  std::string Key(absl::string_view request, const EvidenceSnapshot& evidence) const;
  std::shared_ptr<const EvidenceSnapshot> Evidence() const;
  void Count(const Answer& answer);

  const ResolverBackend* const backend_;
  Metrics* const metrics_;
  const EvidenceSource* const evidence_;
  const std::shared_ptr<const EvidenceSnapshot> no_evidence_ = std::make_shared<const EvidenceSnapshot>();
  const bool caching_;
  std::optional<LoggedText> recording_;
  ResultCache cache_;
  SingleFlight<std::shared_ptr<const StoredAnswer>> flights_;
};

}  // namespace flightplan::service
