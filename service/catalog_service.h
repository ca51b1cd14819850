// flightplan.v1.CatalogService: one forwarding line per rpc.
#pragma once

#include <memory>

#include "grpcpp/impl/service_type.h"
#include "resolver/explain/catalog_answers.h"
#include "service/call.h"
#include "service/current.h"

namespace flightplan::service {

// All pointers must outlive the service.
std::unique_ptr<grpc::Service> MakeCatalogService(const Edge* edge, const Current<CatalogAnswers>* answers);

}  // namespace flightplan::service
