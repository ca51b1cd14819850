#include "service/handlers/convert_config.h"

#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/base/status_macros.h"
#include "service/wire/raw_message.h"

namespace flightplan::service {
namespace {

absl::Status Convert(const ResolverBackend& backend, const grpc::ByteBuffer& request, Call* call,
                     grpc::ByteBuffer* response) {
  const RequestBytes bytes(request);
  v1::ConvertConfigRequest question;
  if (!question.ParseFromArray(bytes.view().data(), static_cast<int>(bytes.view().size()))) {
    return absl::InvalidArgumentError("the request is no flightplan.v1.ConvertConfigRequest");
  }
  v1::ConvertConfigResponse answer;
  FLIGHTPLAN_RETURN_IF_ERROR(backend.ConvertConfig(question, &answer));
  FLIGHTPLAN_RETURN_IF_ERROR(call->CheckTime());
  *response = BufferOf(answer);
  return absl::OkStatus();
}

}  // namespace

grpc::ServerUnaryReactor* HandleConvertConfig(const Edge& edge, const Metrics::Method& method,
                                              const ResolverBackend* backend, AnswerWorkers* workers,
                                              grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                              grpc::ByteBuffer* response) {
  auto* unary = new UnaryCall(edge, method, context, response);
  grpc::ServerUnaryReactor* const reactor = unary->reactor();
  if (const absl::Status refused = unary->call().Admit(Gated::kYes); !refused.ok()) {
    unary->End(refused);
    return reactor;
  }
  unary->call().CountReceived();
  AnswerInTurn(workers, unary, [=](Call* call) { return Convert(*backend, *request, call, response); });
  return reactor;
}

}  // namespace flightplan::service
