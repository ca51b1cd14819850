// flightplan.v1.FleetService.
#pragma once

#include <memory>

#include "grpcpp/impl/service_type.h"
#include "service/call/call.h"
#include "service/handlers/answer.h"

namespace flightplan::service {

// All pointers must outlive the service.
std::unique_ptr<grpc::Service> MakeFleetService(const Edge* edge, AnswerWorkers* workers);

}  // namespace flightplan::service
