// ConvertConfig: a launch of one stack or release as a launch of another.
#pragma once

#include "absl/status/status.h"

namespace flightplan {

namespace v1 {  // generated from proto/flightplan/v1
class ConvertConfigRequest;
class ConvertConfigResponse;
}  // namespace v1

class Catalog;
class Resolver;

// Carries over what the source writes, and what it leaves to a default that the target does not share; says what has no
// counterpart. Both sides are judged by `resolver`. Errors are those of Resolver::ValidateConfig, for either side.
absl::Status ConvertConfig(const Resolver& resolver, const v1::ConvertConfigRequest& request,
                           v1::ConvertConfigResponse* response);

}  // namespace flightplan
