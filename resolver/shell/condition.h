// Evaluates the shell's conditions: [ ... ], test ... and [[ ... ]].
#pragma once

#include <optional>

#include "absl/types/span.h"
#include "resolver/shell/state.h"

namespace flightplan {

// A word of a condition, and whether it was written without quotes: only then can it be an operator or a pattern.
struct TestWord {
  TracedText value;
  bool plain = true;
};

// `patterns`: [[ ]], where the right side of == is one. Nothing: it asks for what only a run would know (files, a
// command's output).
std::optional<bool> ShellTest(absl::Span<const TestWord> words, bool patterns);

}  // namespace flightplan
