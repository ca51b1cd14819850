#include "service/handlers/convert_config.h"

#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/base/status_macros.h"
#include "service/raw_message.h"

namespace flightplan::service {
namespace {

absl::Status Convert(const ResolverBackend& backend, const grpc::ByteBuffer& request, Call* call,
                     grpc::ByteBuffer* response) {
  FLIGHTPLAN_RETURN_IF_ERROR(call->Admit(Gated::kYes));
  call->CountReceived();
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
                                              const ResolverBackend* backend, grpc::CallbackServerContext* context,
                                              const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  auto* unary = new UnaryCall(edge, method, context);
  grpc::ServerUnaryReactor* const reactor = unary->reactor();
  unary->End(Convert(*backend, *request, &unary->call(), response));
  return reactor;
}

}  // namespace flightplan::service
