// The knobs that spell the precision the caller asked for. Precision itself is never changed: where the GPU's usual
// recipe is another one, an A/B is suggested.
#include <utility>

#include "absl/strings/str_cat.h"
#include "resolver/derive/fp8_recipes.h"
#include "resolver/derive/mxfp8_parameters.h"
#include "resolver/derive/target_knobs.h"
#include "resolver/rules/decide/deliberation.h"
#include "resolver/rules/decide/evidence.h"

namespace flightplan::decide {
namespace {

using K = Knob;
constexpr absl::string_view kRule = "decide.precision";
constexpr absl::string_view kGatherRule = "decide.parameter-gather";

// Whether the optimizer's state goes to the host, which excludes MXFP8 parameters: the caller says so, or nothing less
// makes room.
bool NeedsHostOptimizer(const Deliberation& d) {
  if (!OffloadExcludesMxfp8Gather(d.intent.env)) return false;
  if (d.pinned(K::optimizer_cpu_offload)) return d.on(K::optimizer_cpu_offload);
  if (!d.open(K::optimizer_cpu_offload)) return false;
  Features gathered = d.f;
  gathered.candidate.low_precision_weights = true;
  return !Fits(gathered, Reserved(gathered, MemoryNeed(gathered, {.full = true})));
}

}  // namespace

void DecidePrecision(Deliberation& d) {
  const Features& f = d.f;
  const Knob base = f.precision == Precision::kFp16 ? K::fp16 : K::bf16;
  d.Choose(base, true, {.rule_id = kRule, .reason = "the base precision that was asked for"});
  if (const Fp8Recipe* const recipe = Fp8RecipeOf(f.precision)) {
    d.Choose(
        K::fp8, recipe->format,
        {.rule_id = kRule, .reason = absl::StrCat("FP8 was asked for; the format of the ", recipe->name, " recipe")});
    d.Follow(K::fp8_recipe, Value(recipe->name), K::fp8, kRule, "the recipe that was asked for");
  }
  if (f.precision == Precision::kNvfp4) {
    d.Choose(K::fp4, "e2m1", {.rule_id = kRule, .reason = "NVFP4 was asked for"});
    d.Follow(K::fp4_recipe, "nvfp4", K::fp4, kRule, "the recipe that was asked for");
  }
  // Hopper computes FP8 in 128x128 blocks well; on Blackwell MXFP8 is native. Said, never done: it changes convergence.
  const bool other_on_blackwell =
      f.mxfp8 && (f.precision == Precision::kFp8Blockwise || f.precision == Precision::kFp8Delayed);
  const bool other_on_hopper = f.hopper && f.precision == Precision::kFp8Delayed;
  if ((other_on_blackwell || other_on_hopper) && !f.bring_up && !d.pinned(K::fp8_recipe)) {
    AbSuggestion ab{.knob = K::fp8_recipe, .plan_value = d.value(K::fp8_recipe)};
    ab.other_value = f.mxfp8 ? Value("mxfp8") : Value("blockwise");
    ab.reason =
        f.mxfp8
            ? "MXFP8 is the native recipe of Blackwell; it changes the numerics, so it is yours to choose"
            : "blockwise is the recommended FP8 recipe of Hopper; it changes the numerics, so it is yours to choose";
    if (f.mxfp8) ab.companions = {{K::fp8, Value(Fp8RecipeOf(Precision::kMxfp8)->format)}};
    d.SuggestAb(std::move(ab));
  }
}

void DecideParameterGather(Deliberation& d) {
  const bool open = d.open(K::fp8_param_gather) && d.open(K::reuse_grad_buf_for_mxfp8_param_ag);
  if (!open || !InMxfp8(d.config()) || !d.f.mxfp8 || !PlansGatherMxfp8(d.intent.env)) return;
  // Beside the compute alone: before core 0.18 the parameters become NaN otherwise.
  if (!WillOverlapDataParallel(d) || NeedsHostOptimizer(d)) return;
  if (!d.Choose(K::fp8_param_gather, true,
                {.rule_id = kGatherRule,
                 .reason = "MXFP8 parameters need no second copy in 16 bits, as in Megatron-Bridge's own MXFP8 recipe",
                 .basis = Basis::kRecipes,
                 .citations = {evidence::kMxfp8Recipe}})) {
    return;
  }
  d.Follow(K::reuse_grad_buf_for_mxfp8_param_ag, true, K::fp8_param_gather, kGatherRule,
           "they are gathered through the gradients' buffer, which is free by then, in 16 bits");
  d.f.candidate.low_precision_weights = true;
}

void ExpectPrecisionRecipe(Deliberation& d) {
  if (!d.stack.container) return;
  for (auto& [knob, value] : SetByPrecisionRecipe(d.config())) d.Expect(knob, std::move(value));
}

}  // namespace flightplan::decide
