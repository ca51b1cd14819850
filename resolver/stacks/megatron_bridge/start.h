// The recipes that a launch of Bridge starts from. Internal to its folder.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "resolver/plan/config.h"
#include "resolver/plan/reading.h"

namespace flightplan {

// A recipe that a launch starts from: its function's name and what that sets.
struct Recipe {
  absl::string_view function, hf_model, overrides;
};
// The recipe of this name, of the library or the performance harness; empty: none that is known for this release.
// `first`: whose it is where both have the name.
enum class RecipePackage { kLibrary, kHarness };
std::optional<Recipe> FindRecipe(absl::string_view name, int release, RecipePackage first = RecipePackage::kHarness);
// Puts what a recipe sets under all that `out` holds. `batch`: its global batch counts too; where the harness scales
// that by GPUs it depends on the layout.
void StartFromRecipe(const Recipe& recipe, bool batch, int release, ParseResult* out);

// The recipe of the library that trains this model of the Hugging Face hub, from the start or its adapters; empty: none
// that is known for this release.
std::optional<Recipe> RecipeFor(absl::string_view hf_model, bool adapters, int release);
// What a recipe sets otherwise than `config` has it, and is not among `written`: with the value of `config`.
std::vector<std::pair<Knob, Value>> SetOtherwise(const Recipe& recipe, const Config& config, int release,
                                                 absl::Span<const std::pair<Knob, Value>> written);

}  // namespace flightplan
