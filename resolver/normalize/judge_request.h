// From a request to the finished configuration that the caller wants judged, or said to another stack. Everything wrong
// is collected.
#pragma once

#include "absl/status/statusor.h"
#include "resolver/catalog/catalog.h"
#include "resolver/plan/judge_question.h"

namespace flightplan {

namespace v1 {  // generated from proto/flightplan/v1
class ConvertConfigRequest;
class ValidateConfigRequest;
}  // namespace v1

absl::StatusOr<JudgeQuestion> NormalizeValidate(const v1::ValidateConfigRequest& request, const Catalog& catalog);

// Violations of the source stand below "source".
absl::StatusOr<ConvertQuestion> NormalizeConvert(const v1::ConvertConfigRequest& request, const Catalog& catalog);

}  // namespace flightplan
