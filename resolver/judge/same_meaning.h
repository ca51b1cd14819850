// Whether two values mean the same to a stack.
#pragma once

#include "resolver/plan/value.h"

namespace flightplan {

// Python's == takes true for 1.
inline bool SameValue(const Value& a, const Value& b) { return a == b && a.is_bool() == b.is_bool(); }

// The same for Python's `if`: a stack writes None, False, an empty text or an empty list for what it does not use.
inline bool BothUnused(const Value& a, const Value& b) {
  const auto unused = [](const Value& value) { return !value.is_number() && !value.truthy(); };
  return unused(a) && unused(b);
}

inline bool MeansTheSame(const Value& a, const Value& b) { return SameValue(a, b) || BothUnused(a, b); }

}  // namespace flightplan
