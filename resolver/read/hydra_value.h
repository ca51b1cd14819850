// Values in Hydra's override grammar, which Megatron-Bridge reads: bare words, quoted text, [lists].
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "resolver/plan/value.h"

namespace flightplan {

// The text behind '='. Text that the grammar would read as something else is quoted.
std::string WriteHydraValue(const Value& value);

// Reads the text behind '='. `None` is text there, `null` is None, and `${name}` stays as it is written. Refused, as
// the launch would: sweeps (a,b without brackets), dicts, unbalanced quotes or brackets; and more than 64 levels or
// kMaxListItems items.
absl::StatusOr<Value> ReadHydraValue(absl::string_view text);

}  // namespace flightplan
