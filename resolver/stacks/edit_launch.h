// Writes a patch into a launch as its author wrote it: the least change of the text that gives the knobs their values.
#pragma once

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "resolver/plan/finding.h"
#include "resolver/plan/reading.h"
#include "resolver/stacks/input_format.h"

namespace flightplan {

struct EditedText {
  std::string text;
  Patch unwritten;  // assignments that the text has no safe place for
};
struct EditedArguments {
  std::vector<std::string> args;
  Patch unwritten;
};

// Where the launch's words came from, and which of them set which knob.
struct WrittenLaunch {
  absl::Span<const Argument> args;
  absl::Span<const ParsedKnob> knobs;  // at.index points into args
};

// Of arguments. Variables are never written.
EditedArguments EditArguments(const WrittenLaunch& launch, const Patch& patch, const Environment& env);

// Of a file that holds arguments, with their lines and columns. A word is changed in place when the text at its place
// is the word itself; a new one goes in front of a flag. Variables are written where `shell` is true.
EditedText EditArgumentFile(absl::string_view text, const WrittenLaunch& launch, const Patch& patch,
                            const Environment& env, bool shell);

// Of a YAML file of the target: a scalar or a one-line list in place, a new key under its section or where `place` says
// (InputFormat::place).
EditedText EditYaml(absl::string_view text, absl::Span<const ParsedKnob> knobs, const Patch& patch,
                    const Environment& env, YamlPlace place = nullptr);

// Of a recipe of Megatron-Bridge in Python: the literal of a line that sets a field, or a new line behind those that
// do.
EditedText EditPython(absl::string_view text, absl::Span<const ParsedKnob> knobs, const Patch& patch);

}  // namespace flightplan
