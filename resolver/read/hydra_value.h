// Values in Hydra's override grammar, which Megatron-Bridge reads: bare words, quoted text, [lists], {dicts}.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "resolver/plan/value.h"

namespace flightplan {

// The text behind '='. Text that the grammar would read as something else is quoted.
std::string WriteHydraValue(const Value& value);

// What a {dict} is to the reader: no value of one field, or its own text, of which nothing is asked but its grammar.
enum class HydraDicts { kRefused, kAsText };

// Reads the text behind '='. `None` is text there, `null` is None, and `${name}` stays as it is written. Refused, as
// the launch would: sweeps (a,b without brackets), unbalanced quotes or brackets; and more than 64 levels or
// kMaxListItems items.
absl::StatusOr<Value> ReadHydraValue(absl::string_view text, HydraDicts dicts = HydraDicts::kRefused);

}  // namespace flightplan
