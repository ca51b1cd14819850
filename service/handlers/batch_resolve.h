// BatchResolve: many questions on one call, answers as they are ready.
#pragma once

#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "service/call/answer_source.h"
#include "service/call/call.h"
#include "service/call/fair_pool.h"
#include "service/call/held_bytes.h"

namespace flightplan::service {

// Items read and not yet answered. At the limit the stream stops reading until an answer has been written, which slows
// the sender down by HTTP/2 flow control.
inline constexpr int kMaxBatchInFlight = 1000;
// Bytes of such items and of their answers.
inline constexpr size_t kMaxBatchHeldBytes = size_t{32} << 20;
// The same of all streams together; a tenth is one tenant's. Where that is used up a stream goes on with an item at a
// time.
inline constexpr size_t kMaxHeldBytes = size_t{128} << 20;
inline constexpr size_t kMaxBatchIdBytes = 128;

// What all batches share.
struct BatchWorkers {
  BatchWorkers(int share, FairPool* searching) : searches(searching), pool(share) {}
  HeldBytes held{kMaxHeldBytes};
  FairPool* const searches;
  FairPool pool;  // ends first
};

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* HandleBatchResolve(const Edge& edge,
                                                                                const Metrics::Method& method,
                                                                                AnswerSource* answers,
                                                                                BatchWorkers* workers,
                                                                                grpc::CallbackServerContext* context);

}  // namespace flightplan::service
