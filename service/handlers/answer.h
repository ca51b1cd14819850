// ResolveConfig and ValidateConfig: one question, one answer.
#pragma once

#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "service/answer_source.h"
#include "service/call.h"
#include "service/wait_gate.h"
#include "service/worker_pool.h"

namespace flightplan::service {

// Where answers are worked out, and who may wait for it. The calls that wait are among those in flight: that limit
// bounds their number and memory.
struct AnswerWorkers {
  explicit AnswerWorkers(int threads) : gate(threads), pool(threads) {}
  WaitGate gate;
  WorkerPool pool;  // ends first: what it runs asks the gate
};

grpc::ServerUnaryReactor* HandleAnswer(const Edge& edge, const Metrics::Method& method, AnswerRpc rpc,
                                       AnswerSource* answers, AnswerWorkers* workers,
                                       grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                       grpc::ByteBuffer* response);

}  // namespace flightplan::service
