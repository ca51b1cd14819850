// PlanLayouts: a search in a pool of its own, with progress on the way; a caller that goes away ends it.
#pragma once

#include <cstddef>

#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "service/call.h"
#include "service/resolver_backend.h"
#include "service/worker_pool.h"

namespace flightplan::service {

// Searches that wait for their turn, per thread that searches; more are refused.
inline constexpr size_t kMaxQueuedSearches = 2;

grpc::ServerWriteReactor<grpc::ByteBuffer>* HandlePlanLayouts(const Edge& edge, const Metrics::Method& method,
                                                              const ResolverBackend* backend, WorkerPool* pool,
                                                              grpc::CallbackServerContext* context,
                                                              const grpc::ByteBuffer* request);

}  // namespace flightplan::service
