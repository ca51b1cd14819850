// The interface behind which the server resolves and validates: the resolver library, or a fake in tests.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "resolver/evidence/measurement.h"
#include "resolver/evidence/snapshot.h"
#include "resolver/resolver.h"

namespace flightplan::service {

class ProfileStore;

// Called from many threads at once.
class ResolverBackend {
 public:
  virtual ~ResolverBackend() = default;
  virtual absl::Status ResolveConfig(const v1::ResolveConfigRequest& request, const EvidenceSnapshot& evidence,
                                     v1::ResolveConfigResponse* response) const = 0;
  // The profiles that its answers rest on; null: none.
  virtual std::shared_ptr<ProfileStore> profiles() const { return nullptr; }
  // Of what its answers rest on beside request, catalogue and build; changes with it.
  virtual std::string revision() const { return ""; }
  virtual absl::Status ValidateConfig(const v1::ValidateConfigRequest& request, const EvidenceSnapshot& evidence,
                                      v1::ValidateConfigResponse* response) const = 0;
  // The same as bytes: what the server sends. For a backend that makes messages they are serialized.
  virtual absl::Status AnswerResolve(const v1::ResolveConfigRequest& request, const EvidenceSnapshot& evidence,
                                     ConfigAnswer* answer) const;
  virtual absl::Status AnswerValidate(const v1::ValidateConfigRequest& request, const EvidenceSnapshot& evidence,
                                      ConfigAnswer* answer) const;
  virtual absl::Status ConvertConfig(const v1::ConvertConfigRequest& request,
                                     v1::ConvertConfigResponse* response) const = 0;
  virtual absl::Status DescribeTimeline(const v1::DescribeTimelineRequest&, const EvidenceSnapshot&,
                                        v1::DescribeTimelineResponse*) const {
    return absl::UnimplementedError("this backend draws no timelines");
  }
  virtual absl::Status PlanLayouts(const v1::PlanLayoutsRequest& request, const EvidenceSnapshot& evidence,
                                   const PlanHooks& hooks, v1::PlanResult* result) const = 0;
  // See Resolver::ReadMeasurement.
  virtual absl::StatusOr<Measurement> ReadMeasurement(const v1::Measurement&, std::optional<int64_t> /*now_us*/) const {
    return absl::UnimplementedError("this backend reads no measurements");
  }
};

}  // namespace flightplan::service
