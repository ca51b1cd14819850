// Hostile texts for readers of text: made of what a reader's language nests, repeats, refers to and expands.
#pragma once

#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace flightplan::properties {

using Random = std::mt19937_64;

// What texts of a language are made of.
struct Language {
  std::string name;
  std::vector<std::string> words;  // pieces that mean something to its reader
  std::vector<std::string> seeds;  // whole texts that are read
};

// The languages by name: "shell", "yaml", "json", "argv", "overrides", "python", "pattern", "wire". Their seeds are
// empty. Aborts at any other name.
Language LanguageOf(absl::string_view name);

// One text of at most `max_bytes`. The sizes are spread evenly over the powers of two; one in sixteen is of the
// largest.
std::string HostileText(const Language& language, size_t max_bytes, Random* random);

}  // namespace flightplan::properties
