#include "service/handlers/evidence_service.h"

#include "flightplan/v1/evidence_service.grpc.pb.h"
#include "service/call/unary_answer.h"
#include "service/handlers/list_measurements.h"
#include "service/handlers/report_measurement.h"

namespace flightplan::service {
namespace {

using grpc::ByteBuffer;
using v1::EvidenceService;
using Context = grpc::CallbackServerContext;
using Base =
    EvidenceService::WithRawCallbackMethod_ReportMeasurement<EvidenceService::WithRawCallbackMethod_GetMeasurement<
        EvidenceService::WithRawCallbackMethod_ListMeasurements<EvidenceService::Service>>>;

template <class Request, class Response>
using Method = absl::Status (*)(const EvidenceSnapshot&, const Request&, Response*);

class EvidenceServiceImpl final : public Base {
 public:
  EvidenceServiceImpl(const Edge* edge, const ResolverBackend* backend, EvidenceRegistry* registry)
      : edge_(*edge), backend_(backend), registry_(registry) {}

  grpc::ServerUnaryReactor* ReportMeasurement(Context* c, const ByteBuffer* in, ByteBuffer* out) override {
    return HandleReportMeasurement(edge_, report_, backend_, registry_, c, in, out);
  }
  grpc::ServerUnaryReactor* GetMeasurement(Context* c, const ByteBuffer* in, ByteBuffer* out) override {
    return Serve(get_, &FindMeasurement, c, in, out);
  }
  grpc::ServerUnaryReactor* ListMeasurements(Context* c, const ByteBuffer* in, ByteBuffer* out) override {
    return Serve(list_, &PageOfMeasurements, c, in, out);
  }

 private:
  const Metrics::Method& Series(const char* method) const {
    return *edge_.metrics->ForMethod(EvidenceService::service_full_name(), method);
  }
  template <class Request, class Response>
  grpc::ServerUnaryReactor* Serve(const Metrics::Method& series, Method<Request, Response> method, Context* context,
                                  const ByteBuffer* request, ByteBuffer* response) {
    auto* unary = new UnaryCall(edge_, series, context);
    grpc::ServerUnaryReactor* const reactor = unary->reactor();
    const auto evidence = registry_ == nullptr ? std::make_shared<const EvidenceSnapshot>() : registry_->Current();
    unary->End(AnswerUnary<Request, Response>(
        &unary->call(), *request, response,
        [&](const Request& question, Response* answer) { return method(*evidence, question, answer); }));
    return reactor;
  }

  const Edge& edge_;
  const ResolverBackend* const backend_;
  EvidenceRegistry* const registry_;
  const Metrics::Method& report_ = Series("ReportMeasurement");
  const Metrics::Method& get_ = Series("GetMeasurement");
  const Metrics::Method& list_ = Series("ListMeasurements");
};

}  // namespace

std::unique_ptr<grpc::Service> MakeEvidenceService(const Edge* edge, const ResolverBackend* backend,
                                                   EvidenceRegistry* registry) {
  return std::make_unique<EvidenceServiceImpl>(edge, backend, registry);
}

}  // namespace flightplan::service
