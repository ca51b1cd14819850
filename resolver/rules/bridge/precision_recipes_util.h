// Megatron-Bridge's mixed-precision recipes: the fields that each registered name sets.
// From NVIDIA-NeMo/Megatron-Bridge@067f987df src/megatron/bridge/training/mixed_precision.py (the same in 0.4 to 0.6).
#pragma once

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "resolver/rules/rule.h"

namespace flightplan {

struct PrecisionField {
  Knob knob{};  // of the mixed_precision section
  Literal value;
};

// The fields of MixedPrecisionConfig() without arguments.
absl::Span<const PrecisionField> PrecisionDefaults();

// A recipe by name ('-' counts as '_'): two lists, the second overrides the first. False: no such recipe.
bool FindPrecisionRecipe(absl::string_view name, absl::Span<const PrecisionField>* base,
                         absl::Span<const PrecisionField>* own);

}  // namespace flightplan
