// The repair of a validate request: found by the engine, written into the caller's own text, and judged again there.
#pragma once

#include "absl/status/status.h"
#include "resolver/plan/config.h"
#include "resolver/plan/environment.h"
#include "resolver/read_config.h"

namespace flightplan {

namespace v1 {  // generated from proto/flightplan/v1
class Repair;
class ValidateConfigRequest;
}  // namespace v1

class Resolver;

// `written` and `env`: what was read of the request, before the rules ran. The verdicts in *repair are on the text as
// repaired, not on what the repair intended.
absl::Status RepairConfig(const Resolver& resolver, const v1::ValidateConfigRequest& request, const Reading& reading,
                          const Config& written, const Environment& env, v1::Repair* repair);

}  // namespace flightplan
