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

// The line without blanks at its ends and without its comment.
absl::string_view PythonStatement(absl::string_view line);

// Empty: the line is another statement.
std::optional<PythonAssignment> ReadPythonAssignment(absl::string_view line);

// A literal of Python as Hydra spells it: None is null, a tuple is a list.
std::string HydraOfPython(absl::string_view text);

// A value as a literal of Python.
std::string WritePythonValue(const Value& value);

}  // namespace flightplan
