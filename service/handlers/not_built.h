// Methods of the contract that this version does not have yet. They answer UNIMPLEMENTED with reason NOT_BUILT.
#pragma once

#include "absl/strings/string_view.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "service/call/call.h"

namespace flightplan::service {

// `what` as it stands in the message: "the layout planner (PlanLayouts)".
grpc::ServerUnaryReactor* HandleNotBuilt(const Edge& edge, const Metrics::Method& method, absl::string_view what,
                                         grpc::CallbackServerContext* context);
grpc::ServerWriteReactor<grpc::ByteBuffer>* HandleStreamNotBuilt(const Edge& edge, const Metrics::Method& method,
                                                                 absl::string_view what,
                                                                 grpc::CallbackServerContext* context);

}  // namespace flightplan::service
