// What stands at a place of a launch: a flag, a key, or a value of one. By the line alone, in the forms that `validate`
// reads; nothing is parsed that a person has not finished.
#pragma once

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace flightplan::cli {

enum class LaunchForm { kWords, kYaml };  // kWords: scripts, argument files, overrides

struct Spot {
  enum class Kind { kNothing, kName, kValue };
  Kind kind = Kind::kNothing;
  // The name, or of a value the name that it is given to: "--recompute-method", "model.recompute_method" (in YAML with
  // the keys above it).
  std::string name;
  // What the place is in, in bytes: the name as written or the value.
  size_t begin = 0;
  size_t end = 0;
};

Spot SpotAt(absl::string_view text, size_t offset, LaunchForm form);

// The bytes from `begin` that a finding about what is written there should mark: a flag with its value, a key with its
// value, a word.
size_t MarkedEnd(absl::string_view text, size_t begin, LaunchForm form);

}  // namespace flightplan::cli
