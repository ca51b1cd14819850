// From a request to what the caller wants planned: presence, aliases, ranges, names. Everything wrong is collected.
#pragma once

#include "absl/status/statusor.h"
#include "resolver/catalog/catalog.h"
#include "resolver/plan/intent.h"

namespace flightplan {

namespace v1 {  // generated from proto/flightplan/v1
class ResolveConfigRequest;
}  // namespace v1

absl::StatusOr<NormalizedIntent> NormalizeResolve(const v1::ResolveConfigRequest& request, const Catalog& catalog);

}  // namespace flightplan
