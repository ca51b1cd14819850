// ConvertConfig: a launch of one stack as a launch of another.
#pragma once

#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "service/backend/resolver_backend.h"
#include "service/call/call.h"
#include "service/handlers/answer.h"

namespace flightplan::service {

grpc::ServerUnaryReactor* HandleConvertConfig(const Edge& edge, const Metrics::Method& method,
                                              const ResolverBackend* backend, AnswerWorkers* workers,
                                              grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                              grpc::ByteBuffer* response);

}  // namespace flightplan::service
