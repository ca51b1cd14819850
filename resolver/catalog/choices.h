// What may stand in place of a value that is none of a flag's choices.
#pragma once

#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "resolver/plan/knob.h"

namespace flightplan {

// Best first. A misspelt value has the choice nearest to it. Of a knob that says what is trained there is no other: a
// value that the knob has elsewhere is meant as it stands, and each choice would train something else.
std::vector<absl::string_view> ChoicesInstead(Knob knob, absl::string_view text,
                                              absl::Span<const absl::string_view> choices);

// Ends what is said of a value without any.
inline constexpr absl::string_view kNoChoiceInstead = "; another would train something else, so none is offered";

}  // namespace flightplan
