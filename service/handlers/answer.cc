#include "service/handlers/answer.h"

#include "resolver/base/status_macros.h"
#include "service/raw_message.h"

namespace flightplan::service {
namespace {

absl::Status AnswerCall(AnswerRpc rpc, AnswerSource* answers, const grpc::ByteBuffer& request, Call* call,
                        grpc::ByteBuffer* response) {
  FLIGHTPLAN_RETURN_IF_ERROR(call->Admit(Gated::kYes));
  call->CountReceived();
  const RequestBytes bytes(request);
  FLIGHTPLAN_ASSIGN_OR_RETURN(const Answer answer, answers->FromBytes(rpc, bytes.view()));
  FLIGHTPLAN_RETURN_IF_ERROR(call->CheckTime());
  call->Describe(answer);
  call->LogDecision(answer);
  *response = BufferOf(answer.stored->bytes);
  return absl::OkStatus();
}

}  // namespace

grpc::ServerUnaryReactor* HandleAnswer(const Edge& edge, const Metrics::Method& method, AnswerRpc rpc,
                                       AnswerSource* answers, grpc::CallbackServerContext* context,
                                       const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  auto* reactor = new UnaryCall(edge, method, context);
  reactor->End(AnswerCall(rpc, answers, *request, &reactor->call(), response));
  return reactor;
}

}  // namespace flightplan::service
