// Questions about list knobs, and patches that edit them.
#pragma once

#include <initializer_list>
#include <vector>

#include "absl/strings/string_view.h"
#include "resolver/rules/rule.h"

namespace flightplan {

// True when the list holds one of the names.
bool HasAny(const Facts& f, Knob list, std::initializer_list<absl::string_view> names);
// True when the list holds something that is not one of the names.
bool HasOther(const Facts& f, Knob list, absl::Span<const absl::string_view> names);
// Python's `0 in value` for a list of numbers.
bool ListHasNumber(const Value& list, int64_t number);

// The list without these names, or with one more; as values for a patch or a change.
Value Without(const Value& list, std::initializer_list<absl::string_view> names);
Value With(const Value& list, absl::string_view name);
// The list with only these names left.
Value Only(const Value& list, absl::Span<const absl::string_view> names);

}  // namespace flightplan
