// flightplan.v1.EvidenceService: not built yet; every method says so.
#pragma once

#include <memory>

#include "grpcpp/impl/service_type.h"
#include "service/call.h"

namespace flightplan::service {

std::unique_ptr<grpc::Service> MakeEvidenceService(const Edge* edge);

}  // namespace flightplan::service
