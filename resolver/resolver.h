// The public face of the library: from a request message to an answer message.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "resolver/evidence/snapshot.h"
#include "resolver/plan/config_answer.h"
#include "resolver/plan/search_hooks.h"

namespace flightplan {

namespace v1 {  // generated from proto/flightplan/v1
class ConvertConfigRequest;
class ConvertConfigResponse;
class DescribeTimelineRequest;
class DescribeTimelineResponse;
class Measurement;
class PlanLayoutsRequest;
class PlanResult;
class ResolveConfigRequest;
class ResolveConfigResponse;
class ValidateConfigRequest;
class ValidateConfigResponse;
}  // namespace v1

class Catalog;
struct JudgeQuestion;
struct KnownProfiles;
struct ModelShape;
struct NormalizedIntent;
struct ResolvedPlan;
class ProfileSource;  // resolver/evidence

// Immutable; every method is const, gives the same answer for the same input, and may be called from many threads.
//
// A wrong configuration is an answer (OK with findings). Errors are for requests without meaning:
//   INVALID_ARGUMENT with a google.rpc.BadRequest payload (kBadRequestPayload of resolver/normalize/violations.h)
//   listing all field violations, FAILED_PRECONDITION where a target is not covered, INTERNAL for our own bugs.
class Resolver {
 public:
  // `profiles`: what probes measured on the GPUs at hand; null: only what a request sends and what is recorded.
  explicit Resolver(std::shared_ptr<const Catalog> catalog, std::shared_ptr<const ProfileSource> profiles = nullptr);
  ~Resolver();

  // `evidence`: the reported runs that the answer may rest on; part of the digest. A decision that they change names
  // them.
  absl::Status ResolveConfig(const v1::ResolveConfigRequest& request, v1::ResolveConfigResponse* response,
                             const EvidenceSnapshot& evidence = EvidenceSnapshot::Empty()) const;
  absl::Status ValidateConfig(const v1::ValidateConfigRequest& request, v1::ValidateConfigResponse* response,
                              const EvidenceSnapshot& evidence = EvidenceSnapshot::Empty()) const;

  // The same two answers as serialized messages, for callers that forward them. The messages above are parsed from
  // these.
  absl::Status AnswerResolve(const v1::ResolveConfigRequest& request, const EvidenceSnapshot& evidence,
                             ConfigAnswer* answer) const;
  absl::Status AnswerValidate(const v1::ValidateConfigRequest& request, const EvidenceSnapshot& evidence,
                              ConfigAnswer* answer) const;

  // A launch of one stack or release as a launch of another (resolver/judge/convert_config.h).
  absl::Status ConvertConfig(const v1::ConvertConfigRequest& request, v1::ConvertConfigResponse* response) const;

  // One step of a plan or of a finished configuration, drawn (resolver/timeline). FAILED_PRECONDITION where there is no
  // step to draw, CANCELLED where the budget of work is spent (base/work.h).
  absl::Status DescribeTimeline(const v1::DescribeTimelineRequest& request, v1::DescribeTimelineResponse* response,
                                const EvidenceSnapshot& evidence = EvidenceSnapshot::Empty()) const;

  // Searches all layouts that the question leaves open. A search without a plan is an answer with findings.
  absl::Status PlanLayouts(const v1::PlanLayoutsRequest& request, const PlanHooks& hooks, v1::PlanResult* result,
                           const EvidenceSnapshot& evidence = EvidenceSnapshot::Empty()) const;

  // A reported run as the resolver sees it, with the forecast of the same run. INVALID_ARGUMENT with all that is
  // nonsense about it: names, units, ranges, sizes that do not divide, values that no machine reaches. `now_us`, since
  // the epoch: what lies in its future is nonsense too; unset: times are not checked against now.
  absl::StatusOr<Measurement> ReadMeasurement(const v1::Measurement& message, std::optional<int64_t> now_us) const;

  const Catalog& catalog() const { return *catalog_; }

 private:
  // The plan as an answer, after its findings are put in order, with advice where its view has room for that.
  // `request`: the question, for the digest.
  ConfigAnswer Answer(const v1::ResolveConfigRequest& request, const EvidenceSnapshot& evidence,
                      ResolvedPlan* plan) const;

  std::shared_ptr<const Catalog> catalog_;
  std::shared_ptr<const ProfileSource> profiles_;
  std::unique_ptr<const KnownProfiles> known_profiles_;
  // With what is known of its model and of its GPU.
  absl::StatusOr<NormalizedIntent> ReadQuestion(const v1::ResolveConfigRequest& question) const;
  absl::StatusOr<JudgeQuestion> ReadQuestion(const v1::ValidateConfigRequest& question,
                                             const EvidenceSnapshot& evidence) const;
  // Same question, catalogue, evidence and profiles: same digest. Maps are written in key order.
  template <class Request>
  std::string Digest(const Request& request, const EvidenceSnapshot& evidence) const;

  // What is made once of each of the catalogue's models: most requests name one.
  struct KnownModel {
    std::string shown;                        // as answers show it
    std::shared_ptr<const ModelShape> shape;  // null: its parameters cannot be counted
  };
  std::map<std::string, KnownModel, std::less<>> known_models_;
  // Null where the question does not name one of them but describes its model.
  const KnownModel* Known(const v1::ResolveConfigRequest& question, const NormalizedIntent& intent) const;
};

}  // namespace flightplan
