// flightplan.v1.CatalogService: one forwarding line per rpc; what reads a caller's text is worked out in the pool.
#pragma once

#include <memory>

#include "grpcpp/impl/service_type.h"
#include "resolver/explain/catalog_answers.h"
#include "service/backend/current.h"
#include "service/call/call.h"
#include "service/handlers/answer.h"

namespace flightplan::service {

// All pointers must outlive the service.
std::unique_ptr<grpc::Service> MakeCatalogService(const Edge* edge, const Current<CatalogAnswers>* answers,
                                                  AnswerWorkers* workers);

}  // namespace flightplan::service
