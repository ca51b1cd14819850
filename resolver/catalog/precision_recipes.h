// Megatron-Bridge's mixed-precision recipes: the MixedPrecisionConfig that each registered name stands for.
// From NVIDIA-NeMo/Megatron-Bridge@067f987df src/megatron/bridge/training/mixed_precision.py (the same in 0.4 to 0.6).
#pragma once

#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "resolver/plan/knob.h"

namespace flightplan {

// Every field of the mixed_precision section with its value, in the class's order.
using PrecisionConfig = std::vector<std::pair<Knob, Value>>;

// What the recipe sets ('-' counts as '_'); "" is MixedPrecisionConfig() without arguments. Null: no such recipe.
const PrecisionConfig* FindPrecisionRecipe(absl::string_view name);

// Two spellings of one switch: the older property, and the field that it stands for, which a recipe holds.
struct ParamGatherPair {
  Knob param;
  Knob gather;
};
inline constexpr ParamGatherPair kParamGatherPairs[] = {
    {Knob::mixed_precision_fp8_param, Knob::mixed_precision_fp8_param_gather},
    {Knob::mixed_precision_fp4_param, Knob::mixed_precision_fp4_param_gather},
};

}  // namespace flightplan
