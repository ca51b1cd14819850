#include "service/handlers/catalog_service.h"

#include "flightplan/v1/catalog_service.grpc.pb.h"
#include "service/call/unary_answer.h"

namespace flightplan::service {
namespace {

using grpc::ByteBuffer;
using v1::CatalogService;
using Context = grpc::CallbackServerContext;
using Reactor = grpc::ServerUnaryReactor;

template <class Request, class Response>
using Method = absl::Status (CatalogAnswers::*)(const Request&, Response*) const;

using Base = CatalogService::WithRawCallbackMethod_GetModel<CatalogService::WithRawCallbackMethod_ListModels<
    CatalogService::WithRawCallbackMethod_GetGpu<CatalogService::WithRawCallbackMethod_ListGpus<
        CatalogService::WithRawCallbackMethod_GetKnob<CatalogService::WithRawCallbackMethod_ListKnobs<
            CatalogService::WithRawCallbackMethod_GetRule<CatalogService::WithRawCallbackMethod_ListRules<
                CatalogService::WithRawCallbackMethod_ImportModel<CatalogService::Service>>>>>>>>>;

class CatalogServiceImpl final : public Base {
 public:
  CatalogServiceImpl(const Edge* edge, const Current<CatalogAnswers>* answers, AnswerWorkers* workers)
      : edge_(*edge), answers_(*answers), workers_(workers) {}

  Reactor* GetModel(Context* c, const ByteBuffer* in, ByteBuffer* out) override {
    return Serve(get_model_, &CatalogAnswers::GetModel, c, in, out);
  }
  Reactor* ListModels(Context* c, const ByteBuffer* in, ByteBuffer* out) override {
    return Serve(list_models_, &CatalogAnswers::ListModels, c, in, out);
  }
  Reactor* GetGpu(Context* c, const ByteBuffer* in, ByteBuffer* out) override {
    return Serve(get_gpu_, &CatalogAnswers::GetGpu, c, in, out);
  }
  Reactor* ListGpus(Context* c, const ByteBuffer* in, ByteBuffer* out) override {
    return Serve(list_gpus_, &CatalogAnswers::ListGpus, c, in, out);
  }
  Reactor* GetKnob(Context* c, const ByteBuffer* in, ByteBuffer* out) override {
    return Serve(get_knob_, &CatalogAnswers::GetKnob, c, in, out);
  }
  Reactor* ListKnobs(Context* c, const ByteBuffer* in, ByteBuffer* out) override {
    return Serve(list_knobs_, &CatalogAnswers::ListKnobs, c, in, out);
  }
  Reactor* GetRule(Context* c, const ByteBuffer* in, ByteBuffer* out) override {
    return Serve(get_rule_, &CatalogAnswers::GetRule, c, in, out);
  }
  Reactor* ListRules(Context* c, const ByteBuffer* in, ByteBuffer* out) override {
    return Serve(list_rules_, &CatalogAnswers::ListRules, c, in, out);
  }
  Reactor* ImportModel(Context* c, const ByteBuffer* in, ByteBuffer* out) override {
    auto* unary = new UnaryCall(edge_, import_model_, c, out);
    Reactor* const reactor = unary->reactor();
    if (const absl::Status refused = unary->call().Admit(Gated::kYes); !refused.ok()) {
      unary->End(refused);
      return reactor;
    }
    unary->call().CountReceived();
    AnswerInTurn(workers_, unary, [answers = answers_.Get(), in, out](Call*) {
      return AnswerMessage<v1::ImportModelRequest, v1::ModelSpec>(
          *in, out, [&](const v1::ImportModelRequest& question, v1::ModelSpec* answer) {
            return answers->ImportModel(question, answer);
          });
    });
    return reactor;
  }

 private:
  const Metrics::Method& Series(const char* method) const {
    return *edge_.metrics->ForMethod(CatalogService::service_full_name(), method);
  }
  template <class Request, class Response>
  Reactor* Serve(const Metrics::Method& series, Method<Request, Response> method, Context* context,
                 const ByteBuffer* request, ByteBuffer* response) {
    auto* unary = new UnaryCall(edge_, series, context, response);
    grpc::ServerUnaryReactor* const reactor = unary->reactor();
    const auto answers = answers_.Get();
    unary->End(AnswerUnary<Request, Response>(
        &unary->call(), *request, response,
        [&](const Request& question, Response* answer) { return ((*answers).*method)(question, answer); }));
    return reactor;
  }

  const Edge& edge_;
  const Current<CatalogAnswers>& answers_;
  AnswerWorkers* const workers_;
  const Metrics::Method& get_model_ = Series("GetModel");
  const Metrics::Method& list_models_ = Series("ListModels");
  const Metrics::Method& get_gpu_ = Series("GetGpu");
  const Metrics::Method& list_gpus_ = Series("ListGpus");
  const Metrics::Method& get_knob_ = Series("GetKnob");
  const Metrics::Method& list_knobs_ = Series("ListKnobs");
  const Metrics::Method& get_rule_ = Series("GetRule");
  const Metrics::Method& list_rules_ = Series("ListRules");
  const Metrics::Method& import_model_ = Series("ImportModel");
};

}  // namespace

std::unique_ptr<grpc::Service> MakeCatalogService(const Edge* edge, const Current<CatalogAnswers>* answers,
                                                  AnswerWorkers* workers) {
  return std::make_unique<CatalogServiceImpl>(edge, answers, workers);
}

}  // namespace flightplan::service
