// Reads the effect of a knob from matched A/B pairs that were reported from this GPU system.
#pragma once

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "resolver/evidence/measurement.h"
#include "resolver/plan/intent.h"
#include "resolver/rules/decide/features.h"

namespace flightplan::decide {

// Matched pairs of the question's precision, stack and number of GPUs among those of its class of model and GPU, by
// revision; the newest 256. Layouts are compared later, when they are settled.
std::vector<const Measurement*> PairsFor(const NormalizedIntent& intent, absl::Span<const Measurement* const> of_class);

struct PairEffect {
  double change = 0, half = 0;  // of the step with `other` against `value`; half of the 95 % interval
  Value other;
  std::vector<std::string> citations;  // of the newest pairs, at most 8; empty: no pair speaks about it
  bool other_is_faster() const { return change + half < 0; }
  bool value_is_faster() const { return change - half > 0; }
};

// All pairs of this layout that varied `knob` between `value` and one other value; those of the newest other value.
PairEffect EffectOfPairs(absl::Span<const Measurement* const> pairs, const Features& features, Knob knob,
                         const Value& value);

}  // namespace flightplan::decide
