// flightplan.v1.TimelineService.
#pragma once

#include <memory>

#include "grpcpp/impl/service_type.h"
#include "service/backend/resolver_backend.h"
#include "service/call/call.h"
#include "service/call/fair_pool.h"
#include "service/handlers/answer.h"

namespace flightplan::service {

// All pointers must outlive the service.
std::unique_ptr<grpc::Service> MakeTimelineService(const Edge* edge, const ResolverBackend* backend,
                                                   AnswerWorkers* workers, FairPool* searches);

}  // namespace flightplan::service
