// The floor under every figure of the server: the same method, messages, sizes, style and allocator, and no work. The
// answer is a fixed one.
#pragma once

#include <memory>

#include "flightplan/v1/resolver_service.pb.h"
#include "grpcpp/impl/service_type.h"

namespace flightplan::bench {

// Reads the request, builds the answer anew and serializes it, both on one arena per call: what a cold call cannot
// avoid.
std::unique_ptr<grpc::Service> MakeStructuredEcho(v1::ResolveConfigResponse answer);
// Sends stored bytes and looks at nothing: what a cached call cannot avoid.
std::unique_ptr<grpc::Service> MakeRawEcho(const v1::ResolveConfigResponse& answer);

}  // namespace flightplan::bench
