// One line of a program in Python, as far as it says a value outright. Nothing is executed.
#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "resolver/plan/value.h"

namespace flightplan {

// `cfg.model.tensor_model_parallel_size = 2  # comment`; all views are into the line.
struct PythonAssignment {
  absl::string_view name;
  absl::string_view value;      // not empty; without the comment; it may go on below
  absl::string_view statement;  // both
};

// Empty: the line is another statement.
std::optional<PythonAssignment> ReadPythonAssignment(absl::string_view line);

// A value as a literal of Python.
std::string WritePythonValue(const Value& value);

}  // namespace flightplan
