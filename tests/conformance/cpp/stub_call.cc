#include <grpcpp/grpcpp.h>

#include <chrono>
#include <utility>

#include "flightplan/v1/catalog_service.grpc.pb.h"
#include "flightplan/v1/evidence_service.grpc.pb.h"
#include "flightplan/v1/probe_service.grpc.pb.h"
#include "flightplan/v1/resolver_service.grpc.pb.h"
#include "tests/conformance/cpp/answers.h"
#include "tests/conformance/cpp/call.h"

namespace flightplan::conformance {
namespace {

constexpr char kRequestId[] = "x-request-id";
constexpr char kDecisionId[] = "x-flightplan-decision-id";

void Prepare(const CallOptions& options, grpc::ClientContext* context) {
  if (options.has_deadline_ms()) {
    context->set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(options.deadline_ms()));
  }
  for (const auto& [name, value] : options.metadata()) context->AddMetadata(name, value);
}

void AddEnd(const grpc::Status& status, const Case& test, const grpc::ClientContext& context, Facts* facts) {
  google::rpc::Status details;
  if (!details.ParseFromString(status.error_details())) details.Clear();
  details.set_code(status.error_code());
  AddStatus("", details, facts);
  const auto text = [](const grpc::string_ref& value) { return std::string(value.data(), value.size()); };
  const auto id = context.GetServerInitialMetadata().find(kRequestId);
  if (test.options().metadata().contains(kRequestId) && id != context.GetServerInitialMetadata().end()) {
    facts->Add("~header.x-request-id", text(id->second));
  }
  const auto decision = context.GetServerTrailingMetadata().find(kDecisionId);
  if (decision != context.GetServerTrailingMetadata().end()) {
    facts->Add("~trailer.x-flightplan-decision-id", text(decision->second));
  }
}

template <class Stub, class Request, class Answer>
Facts Unary(const Case& test, std::unique_ptr<Stub> stub,
            grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Answer*), const Request& request) {
  Facts facts;
  grpc::ClientContext context;
  Prepare(test.options(), &context);
  Answer answer;
  const grpc::Status status = (*stub.*method)(&context, request, &answer);
  if (status.ok()) AddAnswer("", answer, &facts);
  AddEnd(status, test, context, &facts);
  return facts;
}

Facts Resolve(const Case& test, const std::shared_ptr<grpc::Channel>& channel) {
  v1::ResolveConfigRequest request = test.resolve_config();
  if (test.options().padding_bytes() > 0) {
    (*request.mutable_env())["PADDING"] = std::string(static_cast<size_t>(test.options().padding_bytes()), 'x');
  }
  return Unary(test, v1::ResolverService::NewStub(channel), &v1::ResolverService::Stub::ResolveConfig, request);
}

Facts Plan(const Case& test, const std::shared_ptr<grpc::Channel>& channel) {
  Facts facts;
  grpc::ClientContext context;
  Prepare(test.options(), &context);
  const auto stub = v1::ResolverService::NewStub(channel);
  const auto stream = stub->PlanLayouts(&context, test.plan_layouts());
  v1::PlanLayoutsResponse event;
  int progress = 0;
  while (stream->Read(&event)) {
    if (event.has_progress()) ++progress;
    if (event.has_result()) AddAnswer("", event.result(), &facts);
    if (test.options().cancel_after_first()) context.TryCancel();
  }
  facts.Add("~progress", progress);
  AddEnd(stream->Finish(), test, context, &facts);
  return facts;
}

Facts BatchOf(const Case& test, const std::shared_ptr<grpc::Channel>& channel) {
  Facts facts;
  grpc::ClientContext context;
  Prepare(test.options(), &context);
  const auto stub = v1::ResolverService::NewStub(channel);
  const auto stream = stub->BatchResolve(&context);
  for (const v1::BatchResolveRequest& request : test.batch_resolve().requests()) stream->Write(request);
  stream->WritesDone();
  v1::BatchResolveResponse answer;
  int answered = 0;
  while (stream->Read(&answer)) {
    ++answered;
    AddAnswer("", answer, &facts);
    if (test.options().cancel_after_first()) context.TryCancel();
  }
  facts.Add("answered", answered);
  AddEnd(stream->Finish(), test, context, &facts);
  return facts;
}

}  // namespace

Facts CallByStub(const Case& test, const std::shared_ptr<grpc::Channel>& channel) {
  using Resolver = v1::ResolverService;
  using Catalog = v1::CatalogService;
  using Evidence = v1::EvidenceService;
  using Probe = v1::ProbeService;
  switch (test.call_case()) {
    case Case::kResolveConfig:
      return Resolve(test, channel);
    case Case::kPlanLayouts:
      return Plan(test, channel);
    case Case::kBatchResolve:
      return BatchOf(test, channel);
    case Case::kValidateConfig:
      return Unary(test, Resolver::NewStub(channel), &Resolver::Stub::ValidateConfig, test.validate_config());
    case Case::kConvertConfig:
      return Unary(test, Resolver::NewStub(channel), &Resolver::Stub::ConvertConfig, test.convert_config());
    case Case::kGetModel:
      return Unary(test, Catalog::NewStub(channel), &Catalog::Stub::GetModel, test.get_model());
    case Case::kListModels:
      return Unary(test, Catalog::NewStub(channel), &Catalog::Stub::ListModels, test.list_models());
    case Case::kGetGpu:
      return Unary(test, Catalog::NewStub(channel), &Catalog::Stub::GetGpu, test.get_gpu());
    case Case::kListGpus:
      return Unary(test, Catalog::NewStub(channel), &Catalog::Stub::ListGpus, test.list_gpus());
    case Case::kGetKnob:
      return Unary(test, Catalog::NewStub(channel), &Catalog::Stub::GetKnob, test.get_knob());
    case Case::kListKnobs:
      return Unary(test, Catalog::NewStub(channel), &Catalog::Stub::ListKnobs, test.list_knobs());
    case Case::kGetRule:
      return Unary(test, Catalog::NewStub(channel), &Catalog::Stub::GetRule, test.get_rule());
    case Case::kListRules:
      return Unary(test, Catalog::NewStub(channel), &Catalog::Stub::ListRules, test.list_rules());
    case Case::kImportModel:
      return Unary(test, Catalog::NewStub(channel), &Catalog::Stub::ImportModel, test.import_model());
    case Case::kReportMeasurement:
      return Unary(test, Evidence::NewStub(channel), &Evidence::Stub::ReportMeasurement, test.report_measurement());
    case Case::kGetMeasurement:
      return Unary(test, Evidence::NewStub(channel), &Evidence::Stub::GetMeasurement, test.get_measurement());
    case Case::kListMeasurements:
      return Unary(test, Evidence::NewStub(channel), &Evidence::Stub::ListMeasurements, test.list_measurements());
    case Case::kGetProfile:
      return Unary(test, Probe::NewStub(channel), &Probe::Stub::GetProfile, test.get_profile());
    case Case::kListProfiles:
      return Unary(test, Probe::NewStub(channel), &Probe::Stub::ListProfiles, test.list_profiles());
    case Case::kImportProfile:
      return Unary(test, Probe::NewStub(channel), &Probe::Stub::ImportProfile, test.import_profile());
    case Case::CALL_NOT_SET:
      break;
  }
  return {};  // no fact, so that no condition holds
}

}  // namespace flightplan::conformance
