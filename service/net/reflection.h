// gRPC's own reflection, by which generic clients (grpcurl) learn what a server has.
#pragma once

#include "grpcpp/server_builder.h"

namespace flightplan::service {

// It is the only service here that holds a thread for as long as a caller keeps a stream, and asks for no token.
inline constexpr int kReflectionThreads = 16;

// Turns it on or off, for this server alone, and bounds its threads: who comes when all are held is refused.
void ServeReflection(bool on, grpc::ServerBuilder* builder);

}  // namespace flightplan::service
