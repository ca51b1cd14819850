// Holds the backend in use. A new backend serves calls that begin after the change; running calls keep the old one.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "service/backend/current.h"
#include "service/backend/resolver_backend.h"

namespace flightplan::service {

class ReloadableBackend final : public ResolverBackend {
 public:
  explicit ReloadableBackend(std::unique_ptr<const ResolverBackend> backend) : current_(std::move(backend)) {}
  void Replace(std::unique_ptr<const ResolverBackend> backend) { current_.Set(std::move(backend)); }

  std::shared_ptr<ProfileStore> profiles() const override { return current_.Get()->profiles(); }
  std::string revision() const override { return current_.Get()->revision(); }
  absl::Status ResolveConfig(const v1::ResolveConfigRequest& request, const EvidenceSnapshot& evidence,
                             v1::ResolveConfigResponse* response) const override {
    return current_.Get()->ResolveConfig(request, evidence, response);
  }
  absl::Status ValidateConfig(const v1::ValidateConfigRequest& request, const EvidenceSnapshot& evidence,
                              v1::ValidateConfigResponse* response) const override {
    return current_.Get()->ValidateConfig(request, evidence, response);
  }
  absl::Status AnswerResolve(const v1::ResolveConfigRequest& request, const EvidenceSnapshot& evidence,
                             ConfigAnswer* answer) const override {
    return current_.Get()->AnswerResolve(request, evidence, answer);
  }
  absl::Status AnswerValidate(const v1::ValidateConfigRequest& request, const EvidenceSnapshot& evidence,
                              ConfigAnswer* answer) const override {
    return current_.Get()->AnswerValidate(request, evidence, answer);
  }
  absl::Status ConvertConfig(const v1::ConvertConfigRequest& request,
                             v1::ConvertConfigResponse* response) const override {
    return current_.Get()->ConvertConfig(request, response);
  }
  absl::Status DescribeTimeline(const v1::DescribeTimelineRequest& request, const EvidenceSnapshot& evidence,
                                v1::DescribeTimelineResponse* response) const override {
    return current_.Get()->DescribeTimeline(request, evidence, response);
  }
  absl::Status PlanLayouts(const v1::PlanLayoutsRequest& request, const EvidenceSnapshot& evidence,
                           const PlanHooks& hooks, v1::PlanResult* result) const override {
    return current_.Get()->PlanLayouts(request, evidence, hooks, result);
  }
  absl::StatusOr<Measurement> ReadMeasurement(const v1::Measurement& measurement,
                                              std::optional<int64_t> now_us) const override {
    return current_.Get()->ReadMeasurement(measurement, now_us);
  }

 private:
  Current<ResolverBackend> current_;
};

}  // namespace flightplan::service
