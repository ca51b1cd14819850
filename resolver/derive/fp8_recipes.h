// The FP8 recipes of Megatron-Core: how each is spelled, and the Transformer Engine that it came with.
#pragma once

#include <algorithm>
#include <iterator>
#include <optional>

#include "absl/strings/string_view.h"
#include "resolver/plan/intent.h"

namespace flightplan {

struct Fp8Recipe {
  std::optional<Precision> precision;  // of a question; none: none asks for it
  absl::string_view format;            // the knob fp8, as the recipes of Megatron-Bridge have it
  absl::string_view name;              // the knob fp8_recipe
  absl::string_view gpu_name;          // in fp8_recipes of gpus.yaml; empty: in none
  // The first Transformer Engine with which Megatron-Core builds it (megatron/core/fp8_utils.py:770, the same since
  // 0.15). Empty: any.
  absl::string_view te;
};

inline constexpr Fp8Recipe kFp8Recipes[] = {
    {Precision::kFp8Delayed, "hybrid", "delayed", "", ""},
    {Precision::kFp8Tensorwise, "hybrid", "tensorwise", "fp8_cs", "2.2.0.dev0"},
    {Precision::kFp8Blockwise, "hybrid", "blockwise", "blockwise", "2.3.0.dev0"},
    {Precision::kMxfp8, "e4m3", "mxfp8", "mxfp8", "2.1.0"},
    {std::nullopt, "hybrid", "custom", "", "2.1.0"},
};

// Null: no FP8 is asked for.
inline const Fp8Recipe* Fp8RecipeOf(Precision precision) {
  const auto* const at = std::find_if(std::begin(kFp8Recipes), std::end(kFp8Recipes),
                                      [&](const Fp8Recipe& recipe) { return recipe.precision == precision; });
  return at == std::end(kFp8Recipes) ? nullptr : at;
}

// Null: Megatron-Core has none of this name.
inline const Fp8Recipe* FindFp8Recipe(absl::string_view name) {
  const auto* const at = std::find_if(std::begin(kFp8Recipes), std::end(kFp8Recipes),
                                      [&](const Fp8Recipe& recipe) { return recipe.name == name; });
  return at == std::end(kFp8Recipes) ? nullptr : at;
}

}  // namespace flightplan
