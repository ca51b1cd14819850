// Holds the backend in use. A new backend serves calls that begin after the change; running calls keep the old one.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "service/backend/current.h"
#include "service/backend/resolver_backend.h"

namespace flightplan::service {

class ReloadableBackend final : public ResolverBackend {
 public:
  explicit ReloadableBackend(std::unique_ptr<const ResolverBackend> backend)
      : current_(std::make_shared<const Numbered>(Numbered{0, std::move(backend)})) {}
  void Replace(std::unique_ptr<const ResolverBackend> backend) {
    current_.Set(std::make_shared<const Numbered>(Numbered{++replaced_, std::move(backend)}));
  }

  std::shared_ptr<ProfileStore> profiles() const override { return Get()->profiles(); }
  // Of one backend alone, also where a later one rests on the same again: what was worked out with the one in between
  // is kept under no name that is asked for.
  std::string revision() const override {
    const std::shared_ptr<const Numbered> current = current_.Get();
    return absl::StrCat(current->number, "/", current->backend->revision());
  }
  absl::Status ResolveConfig(const v1::ResolveConfigRequest& request, const EvidenceSnapshot& evidence,
                             v1::ResolveConfigResponse* response) const override {
    return Get()->ResolveConfig(request, evidence, response);
  }
  absl::Status ValidateConfig(const v1::ValidateConfigRequest& request, const EvidenceSnapshot& evidence,
                              v1::ValidateConfigResponse* response) const override {
    return Get()->ValidateConfig(request, evidence, response);
  }
  absl::Status AnswerResolve(const v1::ResolveConfigRequest& request, const EvidenceSnapshot& evidence,
                             ConfigAnswer* answer) const override {
    return Get()->AnswerResolve(request, evidence, answer);
  }
  absl::Status AnswerValidate(const v1::ValidateConfigRequest& request, const EvidenceSnapshot& evidence,
                              ConfigAnswer* answer) const override {
    return Get()->AnswerValidate(request, evidence, answer);
  }
  absl::Status ConvertConfig(const v1::ConvertConfigRequest& request,
                             v1::ConvertConfigResponse* response) const override {
    return Get()->ConvertConfig(request, response);
  }
  absl::Status DescribeTimeline(const v1::DescribeTimelineRequest& request, const EvidenceSnapshot& evidence,
                                v1::DescribeTimelineResponse* response) const override {
    return Get()->DescribeTimeline(request, evidence, response);
  }
  absl::Status PlanLayouts(const v1::PlanLayoutsRequest& request, const EvidenceSnapshot& evidence,
                           const PlanHooks& hooks, v1::PlanResult* result) const override {
    return Get()->PlanLayouts(request, evidence, hooks, result);
  }
  absl::StatusOr<Measurement> ReadMeasurement(const v1::Measurement& measurement,
                                              std::optional<int64_t> now_us) const override {
    return Get()->ReadMeasurement(measurement, now_us);
  }

 private:
  struct Numbered {
    int64_t number;
    std::unique_ptr<const ResolverBackend> backend;
  };
  // Held while it answers.
  std::shared_ptr<const ResolverBackend> Get() const {
    const std::shared_ptr<const Numbered> current = current_.Get();
    return {current, current->backend.get()};
  }

  std::atomic<int64_t> replaced_{0};
  Current<Numbered> current_;
};

}  // namespace flightplan::service
