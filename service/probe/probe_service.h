// flightplan.v1.ProbeService: measures this node's GPUs where the operator allows it, and keeps profiles.
#pragma once

#include <memory>

#include "grpcpp/impl/service_type.h"
#include "service/call/call.h"
#include "service/probe/probe_link.h"

namespace flightplan::service {

std::unique_ptr<grpc::Service> MakeProbeService(const Edge* edge, ProbeLink* probe);

}  // namespace flightplan::service
