#include "service/handlers/resolver_service.h"

#include "flightplan/v1/resolver_service.grpc.pb.h"
#include "service/handlers/answer.h"
#include "service/handlers/batch_resolve.h"
#include "service/handlers/convert_config.h"
#include "service/handlers/plan_layouts.h"

namespace flightplan::service {
namespace {

using grpc::ByteBuffer;
using v1::ResolverService;
using Context = grpc::CallbackServerContext;
using Base = ResolverService::WithRawCallbackMethod_ResolveConfig<ResolverService::WithRawCallbackMethod_ValidateConfig<
    ResolverService::WithRawCallbackMethod_PlanLayouts<ResolverService::WithRawCallbackMethod_BatchResolve<
        ResolverService::WithRawCallbackMethod_ConvertConfig<ResolverService::Service>>>>>;

class ResolverServiceImpl final : public Base {
 public:
  ResolverServiceImpl(const Edge* edge, AnswerSource* answers, const ResolverBackend* backend,
                      AnswerWorkers* answer_workers, BatchWorkers* batch_workers, FairPool* searches)
      : edge_(*edge),
        answers_(answers),
        backend_(backend),
        answer_workers_(answer_workers),
        batch_workers_(batch_workers),
        searches_(searches) {}

  grpc::ServerUnaryReactor* ResolveConfig(Context* c, const ByteBuffer* request, ByteBuffer* response) override {
    return HandleAnswer(edge_, resolve_, AnswerRpc::kResolve, answers_, answer_workers_, searches_, c, request,
                        response);
  }
  grpc::ServerUnaryReactor* ValidateConfig(Context* c, const ByteBuffer* request, ByteBuffer* response) override {
    return HandleAnswer(edge_, validate_, AnswerRpc::kValidate, answers_, answer_workers_, searches_, c, request,
                        response);
  }
  grpc::ServerWriteReactor<ByteBuffer>* PlanLayouts(Context* c, const ByteBuffer* request) override {
    return HandlePlanLayouts(edge_, plan_, backend_, searches_, c, request);
  }
  grpc::ServerBidiReactor<ByteBuffer, ByteBuffer>* BatchResolve(Context* c) override {
    return HandleBatchResolve(edge_, batch_, answers_, batch_workers_, c);
  }
  grpc::ServerUnaryReactor* ConvertConfig(Context* c, const ByteBuffer* request, ByteBuffer* response) override {
    return HandleConvertConfig(edge_, convert_, backend_, answer_workers_, c, request, response);
  }

 private:
  const Metrics::Method& Series(const char* method) const {
    return *edge_.metrics->ForMethod(ResolverService::service_full_name(), method);
  }

  const Edge& edge_;
  AnswerSource* const answers_;
  const ResolverBackend* const backend_;
  AnswerWorkers* const answer_workers_;
  BatchWorkers* const batch_workers_;
  FairPool* const searches_;
  const Metrics::Method& resolve_ = Series("ResolveConfig");
  const Metrics::Method& validate_ = Series("ValidateConfig");
  const Metrics::Method& plan_ = Series("PlanLayouts");
  const Metrics::Method& batch_ = Series("BatchResolve");
  const Metrics::Method& convert_ = Series("ConvertConfig");
};

}  // namespace

std::unique_ptr<grpc::Service> MakeResolverService(const Edge* edge, AnswerSource* answers,
                                                   const ResolverBackend* backend, AnswerWorkers* answer_workers,
                                                   BatchWorkers* batch_workers, FairPool* searches) {
  return std::make_unique<ResolverServiceImpl>(edge, answers, backend, answer_workers, batch_workers, searches);
}

}  // namespace flightplan::service
