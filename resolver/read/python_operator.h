// Python's operators between values that are known. Internal to the evaluator of expressions.
#pragma once

#include <optional>

#include "absl/strings/string_view.h"
#include "resolver/plan/value.h"

namespace flightplan {

// a + b, a * b ...; 'q' is //, 'p' is **. Empty: it has no value, or none that is kept here.
std::optional<Value> PythonArithmetic(char sign, const Value& a, const Value& b);
// "==", "is not", "in" ...
std::optional<bool> PythonComparison(absl::string_view sign, const Value& a, const Value& b);
// 4096, 1_000, 0x10, 1e-4
std::optional<Value> PythonNumber(absl::string_view digits);

}  // namespace flightplan
