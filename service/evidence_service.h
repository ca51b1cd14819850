// flightplan.v1.EvidenceService: reports go through the keeper's writer; reads come from the snapshot and never touch
// the store.
#pragma once

#include <memory>

#include "grpcpp/impl/service_type.h"
#include "service/call.h"
#include "service/evidence_keeper.h"
#include "service/resolver_backend.h"

namespace flightplan::service {

// `keeper` null: evidence is off; reports are refused, lists are empty.
std::unique_ptr<grpc::Service> MakeEvidenceService(const Edge* edge, const ResolverBackend* backend,
                                                   EvidenceKeeper* keeper);

}  // namespace flightplan::service
