// What a scalar of a YAML file is to the stacks, all of which read YAML with PyYAML: YAML 1.1.
#pragma once

#include <optional>

#include "absl/strings/string_view.h"
#include "resolver/base/yaml.h"
#include "resolver/plan/value.h"

namespace flightplan {

// yes, On and TRUE are true, no and off false; nothing: the word is neither.
std::optional<bool> YamlBool(absl::string_view word);

// A scalar or null as PyYAML's safe loader reads it: quoted ones are text, 010 is 8, 1:30 is 90, and 1e5, without a
// point, is text. Integers beyond 64 bits are floats, and dates text.
Value YamlScalar(const YamlNode& node);

}  // namespace flightplan
