// Computes an answer while the call waits; request and answer live on the call's own arena.
#pragma once

#include "absl/status/status.h"
#include "google/protobuf/arena.h"
#include "grpcpp/support/byte_buffer.h"
#include "resolver/base/status_macros.h"
#include "service/call/call.h"
#include "service/wire/call_arena.h"
#include "service/wire/raw_message.h"
#include "service/wire/status_mapping.h"

namespace flightplan::service {

// `answer(request, &response)` gives a status. The call is admitted.
template <class Request, class Response, class Answer>
absl::Status AnswerMessage(const grpc::ByteBuffer& request_buffer, grpc::ByteBuffer* response_buffer,
                           const Answer& answer) {
  google::protobuf::Arena arena(CallArenaOptions());
  auto* request = google::protobuf::Arena::CreateMessage<Request>(&arena);
  auto* response = google::protobuf::Arena::CreateMessage<Response>(&arena);
  const RequestBytes bytes(request_buffer);
  if (!request->ParseFromArray(bytes.view().data(), static_cast<int>(bytes.view().size()))) {
    return MalformedRequest(request->GetTypeName());
  }
  FLIGHTPLAN_RETURN_IF_ERROR(answer(*request, response));
  *response_buffer = BufferOf(*response);
  return absl::OkStatus();
}

// For Get and List calls, which any load leaves answered.
template <class Request, class Response, class Answer>
absl::Status AnswerUnary(Call* call, const grpc::ByteBuffer& request_buffer, grpc::ByteBuffer* response_buffer,
                         const Answer& answer) {
  FLIGHTPLAN_RETURN_IF_ERROR(call->Admit(Gated::kNo));
  call->CountReceived();
  return AnswerMessage<Request, Response>(request_buffer, response_buffer, answer);
}

}  // namespace flightplan::service
