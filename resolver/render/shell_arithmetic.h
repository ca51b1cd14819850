// The integer arithmetic of $(( ... )) and (( ... )).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "absl/strings/string_view.h"

namespace flightplan {

// The value of an expression of numbers, names, + - * / % **, comparisons, && || ! ?: and brackets. `variable` gives
// the value of a name. Nothing: it names what is not known, divides by zero, overflows, assigns, or makes no sense.
std::optional<int64_t> ShellArithmetic(absl::string_view expression,
                                       const std::function<std::optional<int64_t>(absl::string_view)>& variable);

}  // namespace flightplan
