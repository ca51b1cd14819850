// The recipe that a launch starts from, under all that the launch says itself.
#include "resolver/stacks/megatron_bridge/start.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "resolver/catalog/bridge_fields.h"
#include "resolver/catalog/library_recipes.h"
#include "resolver/catalog/perf_recipes.h"
#include "resolver/stacks/megatron_bridge/override_reader.h"

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

namespace {

ParseResult ReadRecipe(const Recipe& recipe, int release) {
  ParseResult base;
  // What counts for memory and no row of the harness holds: every recipe starts from a common one that shards the
  // optimizer (recipes/common.py:87, recipes/utils/optimizer_utils.py:100).
  base.knobs.push_back({Knob::use_distributed_optimizer, Value(true), {}});
  OverrideReader reader(release, &base);
  for (const absl::string_view line : absl::StrSplit(recipe.overrides, '\n')) {
    reader.Read({std::string(line), {}});
  }
  return base;
}

}  // namespace

void StartFromRecipe(const Recipe& recipe, bool batch, int release, ParseResult* out) {
  ParseResult base = ReadRecipe(recipe, release);
  // A precision by its name takes the place of the recipe's whole.
  const bool precise = std::any_of(out->knobs.begin(), out->knobs.end(),
                                   [](const ParsedKnob& knob) { return knob.knob == Knob::mixed_precision_recipe; });
  std::vector<ParsedKnob> knobs;
  for (ParsedKnob& knob : base.knobs) {
    if (knob.knob == Knob::global_batch_size && !batch) continue;
    if (precise && Row(knob.knob).section == Section::kMixedPrecision) continue;
    knob.origin = Origin::kModel;
    knobs.push_back(std::move(knob));
  }
  out->knobs.insert(out->knobs.begin(), std::make_move_iterator(knobs.begin()), std::make_move_iterator(knobs.end()));
  out->recipe_vars.insert(base.recipe_vars.begin(), base.recipe_vars.end());  // what is written stays
  out->base = std::string(recipe.function);
  out->hf_model = std::string(recipe.hf_model);
}

std::optional<Recipe> RecipeFor(absl::string_view hf_model, bool adapters, int release) {
  if (release != kMain || hf_model.empty()) return std::nullopt;
  const LibraryRecipe* found = nullptr;
  for (const LibraryRecipe& recipe : LibraryRecipes()) {
    const bool trains = absl::StrContains(recipe.name, adapters ? "_peft_" : "_pretrain_");
    // A name of one machine's, a vision model's, or a check's; and those that the harness's package wins.
    const bool other = absl::StrContains(recipe.name, "gpu_") || absl::StrContains(recipe.name, "_vl_") ||
                       absl::StrContains(recipe.name, "_mock_") || FindPerfRecipe(recipe.name) != nullptr;
    if (recipe.hf_model != hf_model || !trains || other) continue;
    if (found == nullptr || recipe.name.size() < found->name.size()) found = &recipe;
  }
  if (found == nullptr) return std::nullopt;
  return Recipe{found->name, found->hf_model, found->overrides};
}

namespace {

// Samples are packed before the training, which only microbatches of one are.
constexpr Knob kPacking = Knob::dataset_enable_offline_packing;

// What training is for stays the recipe's, and so do kernels and checks that the configuration leaves alone, and what
// the precision is copied over. How the run is laid out and held is the answer's.
bool IsOfTheAnswer(Knob knob) {
  constexpr Knob kHeldAs[] = {
      Knob::main_grads_dtype,         Knob::main_params_dtype, Knob::exp_avg_dtype,  Knob::exp_avg_sq_dtype,
      Knob::calculate_per_token_loss, Knob::optimizer,         Knob::mtp_num_layers, kPacking};
  constexpr Knob kOfTheRecipe[] = {Knob::attention_backend,  Knob::average_in_collective,  Knob::bias_activation_fusion,
                                   Knob::manual_gc_eval,     Knob::check_for_nan_in_grad,  Knob::te_rng_tracker,
                                   Knob::use_te_rng_tracker, Knob::cuda_graph_warmup_steps};
  const auto in = [knob](absl::Span<const Knob> knobs) {
    return std::find(knobs.begin(), knobs.end(), knob) != knobs.end();
  };
  if (in(kHeldAs) || Row(knob).section == Section::kPeft) return true;
  const bool kernels = absl::string_view(Row(knob).group) == "fusion";
  if (kernels || in(kOfTheRecipe) || MixedPrecisionField(knob).has_value()) return false;
  return Row(knob).knob_class == KnobClass::kExecution;
}

}  // namespace

std::vector<std::pair<Knob, Value>> SetOtherwise(const Recipe& recipe, const Config& config, int release,
                                                 absl::Span<const std::pair<Knob, Value>> written) {
  const ParseResult base = ReadRecipe(recipe, release);
  std::vector<std::pair<Knob, Value>> otherwise;
  const auto has = [](absl::Span<const std::pair<Knob, Value>> all, Knob knob) {
    return std::any_of(all.begin(), all.end(), [knob](const auto& entry) { return entry.first == knob; });
  };
  for (auto set = base.knobs.rbegin(); set != base.knobs.rend(); ++set) {  // the last one counts
    const Knob knob = set->knob;
    const Section section = Row(knob).section;
    // The precision is written whole, and takes the place of the recipe's; what it saves, logs and profiles, and how
    // the learning rate goes, is the recipe's affair.
    constexpr Section kOthers[] = {Section::kMixedPrecision, Section::kLaunch,    Section::kDataset,
                                   Section::kCheckpoint,     Section::kScheduler, Section::kProfiling,
                                   Section::kLogger};
    const bool others = std::find(std::begin(kOthers), std::end(kOthers), section) != std::end(kOthers);
    if ((others && knob != kPacking) || knob == Knob::peft_scheme) continue;
    if (!IsOfTheAnswer(knob) || has(written, knob) || has(otherwise, knob)) continue;
    const Value& wanted = config.Get(knob);
    if (wanted == set->value) continue;
    otherwise.emplace_back(knob, wanted);
    // What says how goes with it (training/config.py:1280).
    if (knob == kPacking) otherwise.emplace_back(Knob::dataset_offline_packing_specs, Value());
  }
  std::reverse(otherwise.begin(), otherwise.end());
  return otherwise;
}

}  // namespace flightplan
