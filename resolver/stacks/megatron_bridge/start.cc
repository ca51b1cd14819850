// The recipe that a launch starts from, under all that the launch says itself.
#include <iterator>
#include <utility>

#include "absl/strings/str_split.h"
#include "resolver/catalog/library_recipes.h"
#include "resolver/catalog/perf_recipes.h"
#include "resolver/stacks/megatron_bridge/override.h"

namespace flightplan {

// The tables are of one day's main; a name may mean something else in a release. What both packages have is taken from
// the harness (scripts/training/recipe_runner.py:233), but by a script that imports the library's.
std::optional<Recipe> FindRecipe(absl::string_view name, int release, RecipePackage first) {
  if (release != kMain) return std::nullopt;
  const PerfRecipe* const perf = FindPerfRecipe(name);
  const LibraryRecipe* const library = FindLibraryRecipe(name);
  if (library != nullptr && (perf == nullptr || first == RecipePackage::kLibrary)) {
    return Recipe{library->name, library->hf_model, library->overrides};
  }
  if (perf == nullptr) return std::nullopt;
  return Recipe{perf->function, perf->hf_model, perf->overrides};
}

void StartFromRecipe(const Recipe& recipe, bool batch, int release, ParseResult* out) {
  ParseResult base;
  OverrideReader reader(release, &base);
  for (const absl::string_view line : absl::StrSplit(recipe.overrides, '\n')) {
    reader.Read({std::string(line), {}});
  }
  // What counts for memory and no row of the harness holds: every recipe starts from a common one that shards the
  // optimizer (recipes/common.py:87, recipes/utils/optimizer_utils.py:100).
  std::vector<ParsedKnob> knobs = {{Knob::use_distributed_optimizer, Value(true), {}, Origin::kModel}};
  for (ParsedKnob& knob : base.knobs) {
    if (knob.knob == Knob::global_batch_size && !batch) continue;
    knob.origin = Origin::kModel;
    knobs.push_back(std::move(knob));
  }
  out->knobs.insert(out->knobs.begin(), std::make_move_iterator(knobs.begin()), std::make_move_iterator(knobs.end()));
  out->recipe_vars.insert(base.recipe_vars.begin(), base.recipe_vars.end());  // what is written stays
  out->base = std::string(recipe.function);
  out->hf_model = std::string(recipe.hf_model);
}

}  // namespace flightplan
