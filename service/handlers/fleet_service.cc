#include "service/handlers/fleet_service.h"

#include "flightplan/v1/fleet_service.grpc.pb.h"
#include "resolver/base/reason.h"
#include "service/call/unary_answer.h"
#include "service/observe/decision_tail.h"

namespace flightplan::service {
namespace {

using grpc::ByteBuffer;
using v1::FleetService;
using Context = grpc::CallbackServerContext;

constexpr absl::Duration kFlush = absl::Seconds(1);

absl::Status Summarize(const ByteBuffer& request, const Call& call, ByteBuffer* response) {
  // Where nobody is asked who they are, a neighbour on the machine is as good as an operator.
  if (!call.by_operator()) {
    return WithReason(absl::FailedPreconditionError(
                          "this server asks nobody who they are, so it knows no operators: give it --token_file, and a "
                          "token the role admin"),
                      "OPERATORS_UNKNOWN");
  }
  const std::string& path = call.edge().decisions->path();
  if (path.empty()) {
    return WithReason(
        absl::FailedPreconditionError("no file holds this server's decisions: start it with --decision_log file:PATH"),
        "DECISION_LOG_OFF");
  }
  call.edge().decisions->Flush(kFlush);  // a file that hangs holds what was decided just now, and no caller
  return AnswerMessage<v1::SummarizeDecisionsRequest, v1::SummarizeDecisionsResponse>(
      request, response, [&](const auto& asked, auto* answer) { return SummarizeDecisions(path, asked, answer); });
}

class FleetServiceImpl final : public FleetService::WithRawCallbackMethod_SummarizeDecisions<FleetService::Service> {
 public:
  FleetServiceImpl(const Edge* edge, AnswerWorkers* workers) : edge_(*edge), workers_(workers) {}

  grpc::ServerUnaryReactor* SummarizeDecisions(Context* context, const ByteBuffer* request,
                                               ByteBuffer* response) override {
    auto* unary = new UnaryCall(edge_, summarize_, context, response);
    grpc::ServerUnaryReactor* const reactor = unary->reactor();
    if (const absl::Status refused = unary->call().Admit(Gated::kYes); !refused.ok()) {
      unary->End(refused);
      return reactor;
    }
    unary->call().CountReceived();
    AnswerInTurn(workers_, unary, [request, response](Call* call) { return Summarize(*request, *call, response); });
    return reactor;
  }

 private:
  const Edge& edge_;
  AnswerWorkers* const workers_;
  const Metrics::Method& summarize_ =
      *edge_.metrics->ForMethod(FleetService::service_full_name(), "SummarizeDecisions");
};

}  // namespace

std::unique_ptr<grpc::Service> MakeFleetService(const Edge* edge, AnswerWorkers* workers) {
  return std::make_unique<FleetServiceImpl>(edge, workers);
}

}  // namespace flightplan::service
