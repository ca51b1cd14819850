// flightplan.v1.ResolverService: one forwarding line per rpc.
#pragma once

#include <memory>

#include "grpcpp/impl/service_type.h"
#include "service/call/answer_source.h"
#include "service/call/call.h"
#include "service/handlers/answer.h"
#include "service/handlers/batch_resolve.h"

namespace flightplan::service {

// All pointers must outlive the service.
std::unique_ptr<grpc::Service> MakeResolverService(const Edge* edge, AnswerSource* answers,
                                                   const ResolverBackend* backend, AnswerWorkers* answer_workers,
                                                   BatchWorkers* batch_workers, FairPool* searches);

}  // namespace flightplan::service
