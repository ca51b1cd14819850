// Knobs by the words that people and stacks have for them.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "clients/cli/backend.h"

namespace flightplan::cli {

// A knob by its name, by its name with dashes, or by a stack's spelling: "--norm-epsilon", "model.layernorm_epsilon=1".
// The status is that of the word as a name.
absl::Status GetKnobByWord(absl::string_view word, Backend& backend, v1::KnobInfo* knob);

}  // namespace flightplan::cli
