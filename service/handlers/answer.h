// ResolveConfig and ValidateConfig: one question, one answer.
#pragma once

#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "service/answer_source.h"
#include "service/call.h"

namespace flightplan::service {

grpc::ServerUnaryReactor* HandleAnswer(const Edge& edge, const Metrics::Method& method, AnswerRpc rpc,
                                       AnswerSource* answers, grpc::CallbackServerContext* context,
                                       const grpc::ByteBuffer* request, grpc::ByteBuffer* response);

}  // namespace flightplan::service
