#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "resolver/catalog/perf_recipes.h"

namespace flightplan {
namespace {

std::string Dtype(absl::string_view name) {
  std::string plain;
  for (const char c : absl::AsciiStrToLower(name)) {
    if (c != '_') plain += c;
  }
  return plain;
}

}  // namespace

const PerfRecipe* FindPerfRecipe(absl::string_view function) {
  const absl::Span<const PerfRecipe> all = PerfRecipes();
  const auto found =
      std::lower_bound(all.begin(), all.end(), function,
                       [](const PerfRecipe& recipe, absl::string_view name) { return recipe.function < name; });
  return found != all.end() && found->function == function ? &*found : nullptr;
}

// scripts/performance/utils/utils.py: get_perf_recipe_by_name, then _select_default_recipe_name.
const PerfRecipe* ChoosePerfRecipe(const PerfChoice& choice) {
  const std::string variant = absl::AsciiStrToLower(choice.variant);
  const bool label = variant.empty() || variant == "v1" || variant == "v2";
  const std::string model = absl::StrCat(choice.recipe, "_", choice.task);
  const std::string target = absl::StrCat(absl::AsciiStrToLower(choice.gpu), "_", Dtype(choice.dtype),
                                          label ? "" : absl::StrCat("_", variant));
  const PerfRecipe* found = nullptr;
  for (const PerfRecipe& recipe : PerfRecipes()) {
    if (recipe.model != model || recipe.target != target) continue;
    if (recipe.gpus == choice.gpus) return &recipe;
    const bool better = found == nullptr || (!found->usual && (recipe.usual || recipe.gpus > found->gpus));
    if (better) found = &recipe;
  }
  return found;
}

}  // namespace flightplan
