// What a container's sections of paths, tokenizers and logs say, in which no rule looks: words of a command line that a
// converted launch keeps, there and back.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "resolver/plan/environment.h"
#include "resolver/plan/reading.h"
#include "resolver/render/launch.h"

namespace flightplan {

// One knob as the words of a container's launch.
struct ContainerWords {
  std::string name;                // "logger.log_interval"
  std::vector<std::string> words;  // "logger.log_interval=10"
};

// The container's own code moves the field (train.eval_iters) to where the default is that of the command line.
bool IsMovedInContainer(Knob knob, const Environment& to);

// Empty: the target is no container, or has no such word.
ContainerWords WordsInContainer(Knob knob, const Value& value, const Environment& to);
// The same for a value that the shell has to work out.
ContainerWords WordsInContainer(Knob knob, const Argument& value, const Environment& to);

// What the overrides of a container's launch say in such sections, and of its fields those that only the shell knows.
struct PlainOverride {
  std::string name;  // "logger.log_interval"
  Argument word;
  std::optional<ParsedKnob> knob;  // of the command line; nothing stands for the others there
};
std::vector<PlainOverride> ReadPlainOverrides(const std::vector<Argument>& args, const Environment& from);

// One more word behind a rendered launch, in its arguments and in its text. What the shell has to work out ($DATA)
// stays for the shell.
void AppendWord(const std::string& word, bool for_shell, Launch* launch);

}  // namespace flightplan
