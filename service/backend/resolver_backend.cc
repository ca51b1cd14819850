#include "service/backend/resolver_backend.h"

#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/base/status_macros.h"
#include "resolver/explain/answer_message.h"

namespace flightplan::service {

absl::Status ResolverBackend::AnswerResolve(const v1::ResolveConfigRequest& request, const EvidenceSnapshot& evidence,
                                            ConfigAnswer* answer) const {
  v1::ResolveConfigResponse response;
  FLIGHTPLAN_RETURN_IF_ERROR(ResolveConfig(request, evidence, &response));
  *answer = AnswerOf(response);
  return absl::OkStatus();
}

absl::Status ResolverBackend::AnswerValidate(const v1::ValidateConfigRequest& request, const EvidenceSnapshot& evidence,
                                             ConfigAnswer* answer) const {
  v1::ValidateConfigResponse response;
  FLIGHTPLAN_RETURN_IF_ERROR(ValidateConfig(request, evidence, &response));
  *answer = AnswerOf(response);
  return absl::OkStatus();
}

}  // namespace flightplan::service
