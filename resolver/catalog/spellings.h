// Names targets and their knobs as users write them: "megatron-bridge 0.6", "--bf16", "model.bf16".
#pragma once

#include <string>
#include <utility>

#include "absl/types/span.h"
#include "resolver/plan/environment.h"
#include "resolver/plan/knob.h"

namespace flightplan {

struct Stack;

// In a stack with words of its own: its word, or the key by which the field is added. Empty: it has no place for it.
std::string OwnSpelling(Knob knob, const Stack& stack);

// Empty where the target has no place for the knob.
std::string SpellingOf(Knob knob, const Environment& env);

// Fields of the config classes and the arguments of a command line that they are copied from under another name.
absl::Span<const std::pair<Knob, Knob>> CopiedArguments();

// "megatron-lm main", "megatron-bridge 0.6".
std::string TargetName(const Environment& env);

}  // namespace flightplan
