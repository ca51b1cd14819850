#include <grpcpp/grpcpp.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "clients/cli/backend.h"
#include "clients/cli/remote_channel.h"
#include "flightplan/v1/catalog_service.grpc.pb.h"
#include "flightplan/v1/evidence_service.grpc.pb.h"
#include "flightplan/v1/probe_service.grpc.pb.h"
#include "flightplan/v1/resolver_service.grpc.pb.h"
#include "flightplan/v1/timeline.grpc.pb.h"
#include "google/rpc/status.pb.h"
#include "resolver/base/status_macros.h"
#include "resolver/catalog/catalog.h"
#include "resolver/normalize/violations.h"
#include "resolver/resolver.h"
#include "service/observe/door_reviews.h"

namespace flightplan::cli {
namespace {

// A refused item of a batch as the status of the call that it stands for.
absl::Status FromRpc(const google::rpc::Status& error) {
  absl::Status status(static_cast<absl::StatusCode>(error.code()), error.message());
  for (const google::protobuf::Any& detail : error.details()) {
    if (detail.type_url() == kBadRequestPayload) status.SetPayload(kBadRequestPayload, absl::Cord(detail.value()));
  }
  return status;
}

// Of a call that had so many seconds. The server's google.rpc.BadRequest travels on as the payload that the library in
// process would have given.
absl::Status FromGrpc(const grpc::Status& status, const std::string& address, int seconds) {
  if (status.ok()) return absl::OkStatus();
  const auto code = static_cast<absl::StatusCode>(status.error_code());
  if (code == absl::StatusCode::kUnavailable) return NoAnswer(address, status.error_message());
  // The server's own end of a question has details; the library's end of a call has none.
  if (code == absl::StatusCode::kDeadlineExceeded && !status.error_details().empty()) {
    return absl::DeadlineExceededError(absl::StrCat(address, ": ", status.error_message()));
  }
  if (code == absl::StatusCode::kDeadlineExceeded) {
    return absl::DeadlineExceededError(absl::StrCat("no answer from ", address, " within ", seconds, " s"));
  }
  absl::Status result(code, status.error_message());
  google::rpc::Status details;
  if (!details.ParseFromString(status.error_details())) return result;
  for (const google::protobuf::Any& detail : details.details()) {
    if (detail.type_url() == kBadRequestPayload) result.SetPayload(kBadRequestPayload, absl::Cord(detail.value()));
  }
  return result;
}

constexpr int kCountMilliseconds = 100;
constexpr int kServerProbeSeconds = 60;  // a probe of 30 s may take 45

class RemoteBackend final : public Backend {
 public:
  RemoteBackend(const std::string& address, const std::shared_ptr<grpc::Channel>& channel)
      : address_(address),
        channel_(channel),
        resolver_(v1::ResolverService::NewStub(channel_)),
        catalog_(v1::CatalogService::NewStub(channel_)),
        probe_(v1::ProbeService::NewStub(channel_)),
        evidence_(v1::EvidenceService::NewStub(channel_)),
        timeline_(v1::TimelineService::NewStub(channel_)) {}

  absl::Status ResolveConfig(const v1::ResolveConfigRequest& request, v1::ResolveConfigResponse* response) override {
    return Call(*resolver_, &v1::ResolverService::Stub::ResolveConfig, request, response, kServerPlanSeconds);
  }
  absl::Status ValidateConfig(const v1::ValidateConfigRequest& request, v1::ValidateConfigResponse* response) override {
    return Call(*resolver_, &v1::ResolverService::Stub::ValidateConfig, request, response);
  }
  // One stream: a thread writes, this one reads. The server reads no further while it has its limit in hand.
  absl::Status ValidateBatch(const std::vector<v1::ValidateConfigRequest>& requests, const BatchDone& done) override {
    grpc::ClientContext context;
    FLIGHTPLAN_RETURN_IF_ERROR(Prepare(kServerPlanSeconds, &context));
    const auto stream = resolver_->BatchResolve(&context);
    std::thread writer([&] {
      for (size_t i = 0; i < requests.size(); ++i) {
        v1::BatchResolveRequest item;
        item.set_request_id(absl::StrCat(i));
        *item.mutable_validate() = requests[i];
        if (!stream->Write(item)) break;  // the call has ended; Finish says why
      }
      stream->WritesDone();
    });
    v1::BatchResolveResponse answer;
    size_t index = 0;
    while (stream->Read(&answer)) {
      if (!absl::SimpleAtoi(answer.request_id(), &index) || index >= requests.size()) continue;
      done(index, answer.has_error() ? FromRpc(answer.error()) : absl::OkStatus(), answer.validate());
    }
    writer.join();
    return FromGrpc(stream->Finish(), address_, kServerPlanSeconds);
  }
  absl::Status ConvertConfig(const v1::ConvertConfigRequest& request, v1::ConvertConfigResponse* response) override {
    return Call(*resolver_, &v1::ResolverService::Stub::ConvertConfig, request, response);
  }
  absl::Status DescribeTimeline(const v1::DescribeTimelineRequest& request,
                                v1::DescribeTimelineResponse* response) override {
    return Call(*timeline_, &v1::TimelineService::Stub::DescribeTimeline, request, response, kServerPlanSeconds);
  }
  // The verdict is known only after the answer, so it rides on a call of its own, the cheapest there is.
  absl::StatusOr<std::shared_ptr<const Catalog>> GetCatalog() override {
    FLIGHTPLAN_ASSIGN_OR_RETURN(Catalog catalog, Catalog::Builtin());
    return std::make_shared<const Catalog>(std::move(catalog));
  }
  void CountReview(absl::string_view door, absl::string_view mode, absl::string_view verdict) override {
    grpc::ClientContext context;
    AddToken(&context);
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(kCountMilliseconds));
    context.AddMetadata(service::kDoorReviewHeader, absl::StrCat(door, "/", mode, "/", verdict));
    v1::ListGpusRequest request;
    v1::ListGpusResponse ignored;
    request.set_page_size(1);
    (void)catalog_->ListGpus(&context, request, &ignored);
  }
  absl::Status PlanLayouts(const v1::PlanLayoutsRequest& request,
                           const std::function<bool(const v1::PlanProgress&)>& progress,
                           v1::PlanResult* result) override {
    grpc::ClientContext context;
    FLIGHTPLAN_RETURN_IF_ERROR(Prepare(kServerPlanSeconds, &context));
    const auto stream = resolver_->PlanLayouts(&context, request);
    v1::PlanLayoutsResponse event;
    while (stream->Read(&event)) {
      if (event.has_result()) *result = std::move(*event.mutable_result());
      if (event.has_progress() && !progress(event.progress())) context.TryCancel();
    }
    return FromGrpc(stream->Finish(), address_, kServerPlanSeconds);
  }
  absl::Status GetModel(const v1::GetModelRequest& request, v1::ModelSpec* response) override {
    return Call(*catalog_, &v1::CatalogService::Stub::GetModel, request, response);
  }
  absl::Status ListModels(const v1::ListModelsRequest& request, v1::ListModelsResponse* response) override {
    return Call(*catalog_, &v1::CatalogService::Stub::ListModels, request, response);
  }
  absl::Status GetGpu(const v1::GetGpuRequest& request, v1::GpuSystem* response) override {
    return Call(*catalog_, &v1::CatalogService::Stub::GetGpu, request, response);
  }
  absl::Status ListGpus(const v1::ListGpusRequest& request, v1::ListGpusResponse* response) override {
    return Call(*catalog_, &v1::CatalogService::Stub::ListGpus, request, response);
  }
  absl::Status GetKnob(const v1::GetKnobRequest& request, v1::KnobInfo* response) override {
    return Call(*catalog_, &v1::CatalogService::Stub::GetKnob, request, response);
  }
  absl::Status ListKnobs(const v1::ListKnobsRequest& request, v1::ListKnobsResponse* response) override {
    return Call(*catalog_, &v1::CatalogService::Stub::ListKnobs, request, response);
  }
  absl::Status GetRule(const v1::GetRuleRequest& request, v1::RuleInfo* response) override {
    return Call(*catalog_, &v1::CatalogService::Stub::GetRule, request, response);
  }
  absl::Status ListRules(const v1::ListRulesRequest& request, v1::ListRulesResponse* response) override {
    return Call(*catalog_, &v1::CatalogService::Stub::ListRules, request, response);
  }
  absl::Status ImportModel(const v1::ImportModelRequest& request, v1::ModelSpec* response) override {
    return Call(*catalog_, &v1::CatalogService::Stub::ImportModel, request, response);
  }
  absl::Status RunProbe(const v1::RunProbeRequest& request, const ProbeRun& run,
                        const std::function<bool(const v1::ProbeProgress&)>& progress,
                        v1::HardwareProfile* profile) override {
    if (!run.worker.empty() || !run.fake.empty()) {
      return absl::InvalidArgumentError("--worker and --fake have no effect with --server: it has its own settings");
    }
    grpc::ClientContext context;
    FLIGHTPLAN_RETURN_IF_ERROR(Prepare(kServerProbeSeconds, &context));
    const auto stream = probe_->RunProbe(&context, request);
    v1::RunProbeResponse event;
    while (stream->Read(&event)) {
      if (event.has_profile()) *profile = std::move(*event.mutable_profile());
      if (event.has_progress() && !progress(event.progress())) context.TryCancel();
    }
    FLIGHTPLAN_RETURN_IF_ERROR(FromGrpc(stream->Finish(), address_, kServerProbeSeconds));
    if (profile->rows_size() > 0 || !profile->device_name().empty()) return absl::OkStatus();
    return absl::InternalError(absl::StrCat("the answer of ", address_, " holds no profile"));
  }
  absl::Status ImportProfile(const v1::HardwareProfile& profile, v1::HardwareProfile* stored) override {
    v1::ImportProfileRequest request;
    *request.mutable_profile() = profile;
    return Call(*probe_, &v1::ProbeService::Stub::ImportProfile, request, stored);
  }
  absl::Status ReportMeasurement(const v1::Measurement& measurement) override {
    v1::ReportMeasurementRequest request;
    *request.mutable_measurement() = measurement;
    v1::ReportMeasurementResponse ignored;
    return Call(*evidence_, &v1::EvidenceService::Stub::ReportMeasurement, request, &ignored);
  }
  absl::Status ListProfiles(std::vector<v1::HardwareProfile>* profiles) override {
    v1::ListProfilesRequest request;
    do {
      v1::ListProfilesResponse page;
      absl::Status status = Call(*probe_, &v1::ProbeService::Stub::ListProfiles, request, &page);
      if (!status.ok()) return status;
      for (v1::HardwareProfile& profile : *page.mutable_profiles()) profiles->push_back(std::move(profile));
      request.set_page_token(page.next_page_token());
    } while (!request.page_token().empty());
    return absl::OkStatus();
  }

 private:
  // A call's token and deadline, in which the wait for the connection is.
  absl::Status Prepare(int seconds, grpc::ClientContext* context) {
    const auto now = std::chrono::system_clock::now();
    AddToken(context);
    context->set_deadline(now + std::chrono::seconds(seconds));
    return AwaitConnection(channel_.get(), address_, now + std::chrono::seconds(kServerDeadlineSeconds));
  }

  template <class Stub, class Request, class Response>
  absl::Status Call(Stub& stub, grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                    const Request& request, Response* response, int seconds = kServerDeadlineSeconds) {
    grpc::ClientContext context;
    FLIGHTPLAN_RETURN_IF_ERROR(Prepare(seconds, &context));
    return FromGrpc((stub.*method)(&context, request, response), address_, seconds);
  }

  const std::string address_;
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<v1::ResolverService::Stub> resolver_;
  const std::unique_ptr<v1::CatalogService::Stub> catalog_;
  const std::unique_ptr<v1::ProbeService::Stub> probe_;
  const std::unique_ptr<v1::EvidenceService::Stub> evidence_;
  const std::unique_ptr<v1::TimelineService::Stub> timeline_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Backend>> MakeRemoteBackend(const std::string& address) {
  FLIGHTPLAN_ASSIGN_OR_RETURN(const std::shared_ptr<grpc::Channel> channel, MakeChannel(address));
  return std::make_unique<RemoteBackend>(address, channel);
}

}  // namespace flightplan::cli
