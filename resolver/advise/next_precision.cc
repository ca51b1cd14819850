#include "resolver/advise/next_precision.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "resolver/derive/fp8_recipes.h"
#include "resolver/derive/mxfp8_parameters.h"

namespace flightplan {
namespace {

using K = Knob;

constexpr double kWorthNumerics = -0.05;  // two runs to their loss are dearer than one to its step

// What Blackwell multiplies natively, else what Hopper computes in blocks, else one scale a tensor. Null: none of them.
const Fp8Recipe* RecipeFor(const GpuSystem& gpu) {
  for (const Precision precision : {Precision::kMxfp8, Precision::kFp8Blockwise, Precision::kFp8Tensorwise}) {
    const Fp8Recipe* const recipe = Fp8RecipeOf(precision);
    if (std::find(gpu.fp8_recipes.begin(), gpu.fp8_recipes.end(), recipe->gpu_name) != gpu.fp8_recipes.end()) {
      return recipe;
    }
  }
  return nullptr;
}

bool Spoken(const Config& config, Knob knob) {
  return config.origin(knob) == Origin::kCaller || config.origin(knob) == Origin::kAbsent;
}

KnobChanges ChangesTo(const Fp8Recipe& recipe, const Config& config) {
  KnobChanges changes = {{K::fp8, Value(recipe.format)}, {K::fp8_recipe, Value(recipe.name)}};
  // A second copy of the parameters is what upstream warns of.
  if (recipe.name == "mxfp8" && MayGatherMxfp8(config)) {
    changes.emplace_back(K::fp8_param_gather, Value(true));
    changes.emplace_back(K::reuse_grad_buf_for_mxfp8_param_ag, Value(true));
  }
  return changes;
}

// Shorter passes make graphs worth more, which are decided anew with the FP8.
bool LeavesOutGraphs(const Config& config) {
  return config.origin(K::cuda_graph_impl) == Origin::kDecided && config.Get(K::cuda_graph_impl).text() == "none";
}
KnobChanges WithGraphs(KnobChanges changes, const Config& config) {
  changes.emplace_back(K::cuda_graph_impl, Value("transformer_engine"));
  changes.emplace_back(GraphModulesKnob(config), Value(Value::List{Value("attn")}));
  return changes;
}

}  // namespace

std::optional<Finding> FindNextPrecision(const NormalizedIntent& intent, const StepModel& model,
                                         const PlanForecast& plan) {
  const Config& config = plan.config;
  if (intent.workload.precision != Precision::kBf16 || intent.stage == Stage::kBringUp ||
      plan.room == StepModel::Room::kShort || config.Get(K::fp8).truthy() || config.Get(K::fp4).truthy() ||
      Spoken(config, K::fp8) || Spoken(config, K::fp8_recipe)) {
    return std::nullopt;
  }
  const Fp8Recipe* const recipe = RecipeFor(intent.gpu);
  if (recipe == nullptr || !AtLeast(intent.env.te, recipe->te)) return std::nullopt;
  KnobChanges changes = ChangesTo(*recipe, config);
  const KnobChanges expected = WithPrecisionRecipe(changes, config, plan.env);
  const std::optional<StepForecast> then = ForecastWith(model, plan, expected);
  if (!then.has_value()) return std::nullopt;
  const StepEffect effect = EffectOf(plan.step, *then);
  if (effect.change > kWorthNumerics) return std::nullopt;
  const MemoryForecast memory = MemoryWith(model, plan, expected);
  const StepModel::Room left = StepModel::RoomOf(memory.verdict);
  const MemoryForecast now = model.Memory(config, plan.env, plan.stages);
  if (left > plan.room || TakesScarceMemory(plan, now, memory) || !MayBeTried(plan, changes)) return std::nullopt;
  const auto worse = [&](const KnobChanges& other) {
    return StepModel::RoomOf(MemoryWith(model, plan, other).verdict) > left;
  };
  if (LeavesOutGraphs(config) && worse(WithGraphs(expected, config))) {
    changes.emplace_back(K::cuda_graph_impl, Value("none"));
  }
  Finding finding = OtherStepFinding("decide.next-step-precision",
                                     "Megatron-Bridge: FP8 recipes of its performance suite (one a GPU generation)",
                                     plan, changes, left);
  finding.seen = absl::StrCat("matrix products are in bf16; ", intent.gpu.name, " computes them faster in FP8");
  finding.needs = absl::StrCat("next to try: FP8 (", recipe->name, "); ", PromiseOf(effect, now, memory),
                               ". It changes the numerics: keep it only if its loss follows that of bf16");
  return finding;
}

}  // namespace flightplan
