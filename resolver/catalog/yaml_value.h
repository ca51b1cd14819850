// From YAML nodes to values: the plain scalars of YAML's core schema.
#pragma once

#include "absl/status/statusor.h"
#include "resolver/base/yaml.h"
#include "resolver/plan/value.h"

namespace flightplan {

// 12 -> integer, 1e-6 and .inf -> float, true/false -> bool, anything else and all that is quoted -> text; a list -> a
// list. A mapping is refused, and so is an integer that does not fit 64 bits.
absl::StatusOr<Value> ValueFromYaml(const YamlNode& node);

}  // namespace flightplan
