// Which words of a launch change, so that its knobs have other values.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "resolver/plan/finding.h"
#include "resolver/stacks/edit_launch.h"

namespace flightplan {

// Replaces args [index, index + count) by `words`; count 0: in front of args[index].
struct WordEdit {
  size_t index = 0;
  size_t count = 0;
  std::vector<std::string> words;
  Assignment assignment;
};

struct WordEdits {
  std::vector<WordEdit> edits;
  Patch unwritten;
};

WordEdits PlanEdits(const WrittenLaunch& launch, const Patch& patch, const Environment& env);

// Not a number: "-3" and "-.5" are values.
bool IsFlag(absl::string_view word);

}  // namespace flightplan
