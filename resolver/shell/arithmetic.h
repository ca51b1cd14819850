// The integer arithmetic of $(( ... )), (( ... )) and let.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "absl/strings/string_view.h"

namespace flightplan {

// What an expression's names stand for. Nothing, in place of a value: it is not known.
struct ShellNumbers {
  std::function<std::optional<int64_t>(absl::string_view name)> get;
  std::function<void(absl::string_view name, std::optional<int64_t> value)> set;
};

// The integer that a word writes: decimal, 0x.., octal behind a 0, BASE#DIGITS. Nothing: it writes none.
std::optional<int64_t> ShellInteger(absl::string_view word);

// The value of an expression: bash's operators, assignments and the comma. Nothing: it names what is not known, divides
// by zero, overflows, names an item of an array, or makes no sense.
std::optional<int64_t> ShellArithmetic(absl::string_view expression, const ShellNumbers& numbers);

}  // namespace flightplan
