#include "service/handlers/evidence_service.h"

#include "flightplan/v1/evidence_service.grpc.pb.h"
#include "resolver/explain/catalog_answers.h"
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

class EvidenceServiceImpl final : public Base {
 public:
  EvidenceServiceImpl(const Edge* edge, const Current<CatalogAnswers>* catalog, const ResolverBackend* backend,
                      EvidenceRegistry* registry)
      : edge_(*edge), catalog_(*catalog), backend_(backend), registry_(registry) {}

  grpc::ServerUnaryReactor* ReportMeasurement(Context* c, const ByteBuffer* in, ByteBuffer* out) override {
    return HandleReportMeasurement(edge_, report_, backend_, registry_, c, in, out);
  }
  grpc::ServerUnaryReactor* GetMeasurement(Context* c, const ByteBuffer* in, ByteBuffer* out) override {
    return Serve<v1::GetMeasurementRequest, v1::Measurement>(get_, &FindMeasurement, c, in, out);
  }
  grpc::ServerUnaryReactor* ListMeasurements(Context* c, const ByteBuffer* in, ByteBuffer* out) override {
    const std::shared_ptr<const CatalogAnswers> catalog = catalog_.Get();
    return Serve<v1::ListMeasurementsRequest, v1::ListMeasurementsResponse>(
        list_,
        [&catalog](const EvidenceSnapshot& evidence, const v1::ListMeasurementsRequest& request,
                   v1::ListMeasurementsResponse* answer) {
          return PageOfMeasurements(*catalog, evidence, request, answer);
        },
        c, in, out);
  }

 private:
  const Metrics::Method& Series(const char* method) const {
    return *edge_.metrics->ForMethod(EvidenceService::service_full_name(), method);
  }
  template <class Request, class Response, class Method>
  grpc::ServerUnaryReactor* Serve(const Metrics::Method& series, const Method& method, Context* context,
                                  const ByteBuffer* request, ByteBuffer* response) {
    auto* unary = new UnaryCall(edge_, series, context, response);
    grpc::ServerUnaryReactor* const reactor = unary->reactor();
    const auto evidence = registry_ == nullptr ? std::make_shared<const EvidenceSnapshot>() : registry_->Current();
    unary->End(AnswerUnary<Request, Response>(
        &unary->call(), *request, response,
        [&](const Request& question, Response* answer) { return method(*evidence, question, answer); }));
    return reactor;
  }

  const Edge& edge_;
  const Current<CatalogAnswers>& catalog_;
  const ResolverBackend* const backend_;
  EvidenceRegistry* const registry_;
  const Metrics::Method& report_ = Series("ReportMeasurement");
  const Metrics::Method& get_ = Series("GetMeasurement");
  const Metrics::Method& list_ = Series("ListMeasurements");
};

}  // namespace

std::unique_ptr<grpc::Service> MakeEvidenceService(const Edge* edge, const Current<CatalogAnswers>* catalog,
                                                   const ResolverBackend* backend, EvidenceRegistry* registry) {
  return std::make_unique<EvidenceServiceImpl>(edge, catalog, backend, registry);
}

}  // namespace flightplan::service
