// flightplan.v1.EvidenceService: reports go through the registry's writer; reads come from the snapshot and never touch
// the store.
#pragma once

#include <memory>

#include "grpcpp/impl/service_type.h"
#include "resolver/explain/catalog_answers.h"
#include "service/backend/current.h"
#include "service/backend/resolver_backend.h"
#include "service/call/call.h"
#include "service/evidence/evidence_registry.h"

namespace flightplan::service {

// `registry` null: evidence is off; reports are refused, lists are empty.
std::unique_ptr<grpc::Service> MakeEvidenceService(const Edge* edge, const Current<CatalogAnswers>* catalog,
                                                   const ResolverBackend* backend, EvidenceRegistry* registry);

}  // namespace flightplan::service
