// What a fuzz target tells libFuzzer about an input beyond the branches taken: which rules fired and which knobs were
// read. An input that reaches a new one is kept and mutated further, so that the search goes somewhere in builds
// without coverage instrumentation too.
#pragma once

#include "absl/strings/string_view.h"
#include "resolver/plan/reading.h"

namespace flightplan::fuzz {

// Something that the program met, by any name: a rule id, a refusal.
void Met(absl::string_view what);
void Met(const ParseResult& parsed);

}  // namespace flightplan::fuzz
