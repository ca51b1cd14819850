// The recipes of Megatron-Bridge's library, which run_recipe.py and people's own scripts start from by name.
#pragma once

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace flightplan {

struct LibraryRecipe {
  absl::string_view name;       // of a function, or another name of it: "qwen3_30b_a3b_pretrain_config"
  absl::string_view hf_model;   // of the Hugging Face hub; empty: the function names none
  absl::string_view overrides;  // what it sets, in Bridge's own spelling, one a line
};
// Sorted by name.
absl::Span<const LibraryRecipe> LibraryRecipes();

// Null: none that is known.
const LibraryRecipe* FindLibraryRecipe(absl::string_view name);
// And none of the performance harness, which wins where both have the name.
bool IsLibraryRecipe(absl::string_view name);

}  // namespace flightplan
