// A value that is no number, in a field that holds one. The stacks assign what they read to their configuration without
// a check of its type, so that Python stops where it first computes with the field.
#pragma once

#include <optional>
#include <string>

#include "resolver/plan/knob.h"
#include "resolver/plan/reading.h"

namespace flightplan {

// Whose configuration code reads the field.
enum class NumberReader { kBridge, kLoongForge };

// One, or a list of them.
bool HoldsNumbers(Knob knob);

struct NumberFault {
  bool refused = false;  // that code stops at it; else what is built of the configuration does
  std::string needs;     // "an integer, not text"
  Value written;
  std::optional<Value> meant;  // what it would say as a number; null for None, where the field may be unset
};

// Makes a number of text that a file or a quote made of one (1e3). After a fault `value` is the integer that a float
// counts as, or None: it is not known.
std::optional<NumberFault> FindNumberFault(Knob knob, NumberReader reader, Value* value);

// `subject`: the field as the caller names it. `refused_id`, `source`: of a fault that the configuration code stops at.
ParseFinding NumberFinding(const NumberFault& fault, Knob knob, const SourcePosition& at, absl::string_view refused_id,
                           absl::string_view source, std::string seen, absl::string_view subject);

}  // namespace flightplan
