// PlanLayouts: a search in a pool of its own, with progress on the way; a caller that goes away ends it.
#pragma once

#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "service/backend/resolver_backend.h"
#include "service/call/call.h"
#include "service/call/fair_pool.h"

namespace flightplan::service {

grpc::ServerWriteReactor<grpc::ByteBuffer>* HandlePlanLayouts(const Edge& edge, const Metrics::Method& method,
                                                              const ResolverBackend* backend, FairPool* searches,
                                                              grpc::CallbackServerContext* context,
                                                              const grpc::ByteBuffer* request);

}  // namespace flightplan::service
