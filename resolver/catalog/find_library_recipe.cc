#include <algorithm>

#include "resolver/catalog/library_recipes.h"
#include "resolver/catalog/perf_recipes.h"

namespace flightplan {

const LibraryRecipe* FindLibraryRecipe(absl::string_view name) {
  const absl::Span<const LibraryRecipe> all = LibraryRecipes();
  const auto found = std::lower_bound(all.begin(), all.end(), name,
                                      [](const LibraryRecipe& recipe, absl::string_view n) { return recipe.name < n; });
  return found != all.end() && found->name == name ? &*found : nullptr;
}

bool IsLibraryRecipe(absl::string_view name) {
  return FindLibraryRecipe(name) != nullptr && FindPerfRecipe(name) == nullptr;
}

}  // namespace flightplan
