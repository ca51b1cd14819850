#include "service/evidence_service.h"

#include "flightplan/v1/evidence_service.grpc.pb.h"
#include "service/handlers/not_built.h"

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
  explicit EvidenceServiceImpl(const Edge* edge) : edge_(*edge) {}

  grpc::ServerUnaryReactor* ReportMeasurement(Context* c, const ByteBuffer*, ByteBuffer*) override {
    return NotThere("ReportMeasurement", c);
  }
  grpc::ServerUnaryReactor* GetMeasurement(Context* c, const ByteBuffer*, ByteBuffer*) override {
    return NotThere("GetMeasurement", c);
  }
  grpc::ServerUnaryReactor* ListMeasurements(Context* c, const ByteBuffer*, ByteBuffer*) override {
    return NotThere("ListMeasurements", c);
  }

 private:
  grpc::ServerUnaryReactor* NotThere(const char* method, Context* context) {
    return HandleNotBuilt(edge_, *edge_.metrics->ForMethod(EvidenceService::service_full_name(), method),
                          "the evidence store (EvidenceService)", context);
  }

  const Edge& edge_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeEvidenceService(const Edge* edge) {
  return std::make_unique<EvidenceServiceImpl>(edge);
}

}  // namespace flightplan::service
