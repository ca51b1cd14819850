// ResolveConfig and ValidateConfig: one question, one answer.
#pragma once

#include <chrono>
#include <cstddef>

#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "service/answer_source.h"
#include "service/call.h"
#include "service/worker_pool.h"

namespace flightplan::service {

// Of the pool in which answers are worked out. The number is a bound on memory; the time is what refuses in earnest.
inline constexpr size_t kMaxQueuedAnswers = 4096;
inline constexpr std::chrono::milliseconds kMaxAnswerWait{25};

grpc::ServerUnaryReactor* HandleAnswer(const Edge& edge, const Metrics::Method& method, AnswerRpc rpc,
                                       AnswerSource* answers, WorkerPool* pool, grpc::CallbackServerContext* context,
                                       const grpc::ByteBuffer* request, grpc::ByteBuffer* response);

}  // namespace flightplan::service
