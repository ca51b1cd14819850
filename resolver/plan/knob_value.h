// Whether a value suits a knob, and reading one from text.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "resolver/plan/knob.h"

namespace flightplan {

// Of choices such as "bf16|fp16".
bool IsChoice(absl::string_view text, absl::string_view choices);

// INVALID_ARGUMENT with what would be right when the value has a wrong type, is not one of the knob's choices, is not
// finite, or is longer than CheckKnobSize allows. None suits every knob.
absl::Status CheckKnobValue(Knob knob, const Value& value);

// INVALID_ARGUMENT when the value is longer than any that a launch gives: rules look at every item, and are asked again
// for every fix. For values of any type, as files hold them.
absl::Status CheckKnobSize(Knob knob, const Value& value);

// Reads what a person writes after `KNOB=`: "true", "8", "1e-5", "none", "a,b" or "[a, b]" for a list. The result
// suits the knob.
absl::StatusOr<Value> ParseKnobText(Knob knob, absl::string_view text);

inline constexpr size_t kMaxTextBytes = size_t{64} * 1024;
inline constexpr size_t kMaxItems = 16'384;
// Of names of modules, tensors and exchanges: a few for each layer. Lists of files are no names.
inline constexpr size_t kMaxNamesBytes = size_t{32} * 1024, kMaxNames = 4096;

}  // namespace flightplan
