// Writes flags of a command line: the words that give a knob its value.
#pragma once

#include "absl/container/inlined_vector.h"
#include "resolver/catalog/defaults.h"
#include "resolver/render/launch.h"

namespace flightplan {

// One flag that can say a knob's value.
struct FlagSpelling {
  absl::string_view flag;
  FlagForm form;
  ValueType type;  // of one value
  bool negative;   // --no-...: written where the value is false
};
using FlagSpellings = absl::InlinedVector<FlagSpelling, 1>;

FlagSpelling SpellingOf(absl::string_view flag, FlagForm form, ValueType type);

// Writes the first of these flags that can say the value; false: none can, as of a switch that only turns on.
bool WriteFlag(const FlagSpellings& flags, const Value& value, LaunchWriter* words);

// Equal, and both or neither a bool: 1 and true are two things on a command line.
bool SameWords(const Value& a, const Value& b);

}  // namespace flightplan
