// Mixed precision: a recipe name becomes a MixedPrecisionConfig, which is checked and then copied over the model,
// optimizer and DDP configs.
// Lines are those of NVIDIA-NeMo/Megatron-Bridge@067f987df src/megatron/bridge/training/mixed_precision.py; the recipe
// is looked up first, although its code stands last in the file.
#include "resolver/catalog/bridge_fields.h"
#include "resolver/catalog/precision_recipes.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

struct Target {
  K from;
  ConstList<K, 2> to;
};

// Every field of MixedPrecisionConfig that the model, the optimizer or the DDP config has as well.
constexpr Target kTargets[] = {
    {K::mixed_precision_fp16, {K::fp16, K::optimizer_fp16}},
    {K::mixed_precision_bf16, {K::bf16, K::optimizer_bf16}},
    {K::mixed_precision_params_dtype, {K::params_dtype, K::optimizer_params_dtype}},
    {K::mixed_precision_pipeline_dtype, {K::pipeline_dtype}},
    {K::mixed_precision_autocast_dtype, {K::autocast_dtype}},
    {K::mixed_precision_grad_reduce_in_fp32, {K::grad_reduce_in_fp32}},
    {K::mixed_precision_fp8, {K::fp8}},
    {K::mixed_precision_fp8_recipe, {K::fp8_recipe, K::optimizer_fp8_recipe}},
    {K::mixed_precision_first_last_layers_bf16, {K::first_last_layers_bf16}},
    {K::mixed_precision_fp8_margin, {K::fp8_margin}},
    {K::mixed_precision_fp8_amax_history_len, {K::fp8_amax_history_len}},
    {K::mixed_precision_fp8_amax_compute_algo, {K::fp8_amax_compute_algo}},
    {K::mixed_precision_fp8_wgrad, {K::fp8_wgrad}},
    {K::mixed_precision_fp8_dot_product_attention, {K::fp8_dot_product_attention}},
    {K::mixed_precision_fp8_multi_head_attention, {K::fp8_multi_head_attention}},
    {K::mixed_precision_fp8_param, {K::fp8_param}},
    {K::mixed_precision_fp8_param_gather, {K::fp8_param_gather}},
    {K::mixed_precision_fp4, {K::fp4}},
    {K::mixed_precision_fp4_recipe, {K::fp4_recipe}},
    {K::mixed_precision_fp4_param, {K::fp4_param}},
    {K::mixed_precision_fp4_param_gather, {K::fp4_param_gather}},
    {K::mixed_precision_loss_scale, {K::loss_scale}},
    {K::mixed_precision_initial_loss_scale, {K::initial_loss_scale}},
    {K::mixed_precision_min_loss_scale, {K::min_loss_scale}},
    {K::mixed_precision_loss_scale_window, {K::loss_scale_window}},
    {K::mixed_precision_hysteresis, {K::hysteresis}},
    {K::mixed_precision_num_layers_at_start_in_bf16, {K::num_layers_at_start_in_bf16}},
    {K::mixed_precision_num_layers_at_end_in_bf16, {K::num_layers_at_end_in_bf16}},
    {K::mixed_precision_reuse_grad_buf_for_mxfp8_param_ag,
     {K::reuse_grad_buf_for_mxfp8_param_ag, K::optimizer_reuse_grad_buf_for_mxfp8_param_ag}},
};

bool Configured(F f) { return MixedPrecisionConfigured(f.config()); }

bool UnknownRecipe(F f) {
  const absl::string_view name = f.text(K::mixed_precision_recipe);
  return f.set(K::mixed_precision_recipe) && (name.empty() || FindPrecisionRecipe(name) == nullptr);
}

void ApplyRecipe(Editor& e) {
  const Facts& f = e.facts();
  if (!Configured(f) || UnknownRecipe(f)) return;
  for (const auto& [knob, value] : *FindPrecisionRecipe(f.text(K::mixed_precision_recipe))) {
    if (!f.given(knob)) e.Fill(knob, value);
  }
}

// Upstream keeps the two spellings equal on every write, and a constructor and the overrides of a launch write every
// field in the class's order: that of the gather comes last.
void SyncPair(Editor& e, const ParamGatherPair& pair) {
  const Facts& f = e.facts();
  const auto [param, gather] = pair;
  if (f.given(param)) {
    e.Set(param, f.value(gather));
  } else {
    e.Fill(param, f.value(gather));
  }
}

bool GatherWithoutReuse(F f) {
  return Configured(f) && f.on(K::mixed_precision_fp8_param_gather) && f.is(K::mixed_precision_fp8_recipe, "mxfp8") &&
         !f.on(K::mixed_precision_reuse_grad_buf_for_mxfp8_param_ag);
}

const Rule kRules[] = {
    {.id = "bridge-mp.unknown-recipe",
     .area = "precision",
     .at = {Phase::kMixedPrecision, 10},
     .source = "Megatron-Bridge:src/megatron/bridge/training/mixed_precision.py:448",
     .reads = {K::mixed_precision_recipe},
     .when = UnknownRecipe,
     .needs = "mixed_precision names a registered recipe",
     .fixes = {{{K::mixed_precision_recipe, "bf16_mixed"}}}},
    {.id = "bridge-mp.recipe-default",
     .area = "fp8",
     .kind = Kind::kChange,
     .at = {Phase::kMixedPrecision, 50},
     .source = "Megatron-Bridge:src/megatron/bridge/training/mixed_precision.py:50",
     .reads = {K::mixed_precision_recipe, K::mixed_precision_fp8_recipe},
     .change = ApplyRecipe},
    {.id = "bridge-mp.param-gather-sync",
     .area = "fp8",
     .kind = Kind::kChange,
     .at = {Phase::kMixedPrecision, 99},
     .source = "Megatron-Bridge:src/megatron/bridge/training/mixed_precision.py:99",
     .reads = {K::mixed_precision_fp8_param, K::mixed_precision_fp8_param_gather, K::mixed_precision_fp4_param,
               K::mixed_precision_fp4_param_gather},
     .change =
         [](Editor& e) {
           if (!Configured(e.facts()) || UnknownRecipe(e.facts())) return;
           for (const ParamGatherPair& pair : kParamGatherPairs) SyncPair(e, pair);
         }},
    {.id = "bridge-mp.mxfp8-gather-needs-reuse",  // 0.4 asks in the precision config itself, later releases in validate
     .area = "fp8",
     .at = {Phase::kMixedPrecision, 106},
     .source = "Megatron-Bridge 0.4.2:src/megatron/bridge/training/mixed_precision.py:106",
     .bridge = {.until = 4},
     .reads = {K::mixed_precision_fp8_param_gather, K::mixed_precision_fp8_recipe,
               K::mixed_precision_reuse_grad_buf_for_mxfp8_param_ag},
     .when = GatherWithoutReuse,
     .needs = "MXFP8 parameters are gathered through the gradient buffer",
     .fixes = {{{K::mixed_precision_reuse_grad_buf_for_mxfp8_param_ag, true}}}},
    {.id = "bridge-mp.fp4-and-fp8",
     .area = "fp4",
     .at = {Phase::kMixedPrecision, 108},
     .source = "Megatron-Bridge:src/megatron/bridge/training/mixed_precision.py:108",
     .reads = {K::mixed_precision_fp4, K::mixed_precision_fp8},
     .when = [](F f) { return f.on(K::mixed_precision_fp4) && f.on(K::mixed_precision_fp8); },
     .needs = "either fp4 or fp8",
     .fixes = {{{K::mixed_precision_fp4, kUnset},
                {K::mixed_precision_fp4_param_gather, false},
                {K::mixed_precision_fp4_param, false}},
               {{K::mixed_precision_fp8, kUnset}}}},
    {.id = "bridge-mp.fp4-te-2.7",
     .area = "version-gate",
     .at = {Phase::kMixedPrecision, 111},
     .source = "Megatron-Bridge:src/megatron/bridge/training/mixed_precision.py:111",
     .reads = {K::mixed_precision_fp4},
     .reads_env = {"te"},
     .when = [](F f) { return f.on(K::mixed_precision_fp4) && !f.te_at_least("2.7.0.dev0"); },
     .needs = "NVFP4 scaling came with Transformer Engine 2.7",
     .fixes = {{{K::mixed_precision_fp4, kUnset}, {K::mixed_precision_fp4_param_gather, false}},
               {{K::mixed_precision_recipe, "bf16_mixed"}}}},
    {.id = "bridge-mp.overwrites",
     .area = "precision",
     .kind = Kind::kChange,
     .at = {Phase::kMixedPrecision, 126},
     .source = "Megatron-Bridge:src/megatron/bridge/training/mixed_precision.py:147",
     .reads = {K::mixed_precision_recipe},
     .change =
         [](Editor& e) {
           const Facts& f = e.facts();
           if (!Configured(f) || UnknownRecipe(f)) return;
           for (const Target& target : kTargets) {
             for (K to : target.to) {
               const bool has_field = f.origin(to) != Origin::kAbsent;
               if (has_field) e.Set(to, f.value(target.from));
             }
           }
         }},
    {.id = "bridge-mp.mxfp8-gather-needs-reuse",
     .area = "fp8",
     .at = {Phase::kContainer, 1495},
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1495",
     .bridge = {.since = 5},
     .reads = {K::mixed_precision_fp8_param_gather, K::mixed_precision_fp8_recipe,
               K::mixed_precision_reuse_grad_buf_for_mxfp8_param_ag, K::use_megatron_fsdp},
     .when = [](F f) { return GatherWithoutReuse(f) && !f.on(K::use_megatron_fsdp); },
     .needs = "MXFP8 parameters are gathered through the gradient buffer unless Megatron-FSDP does it",
     .fixes = {{{K::mixed_precision_reuse_grad_buf_for_mxfp8_param_ag, true}}}},
};

}  // namespace

RuleList BridgeMixedPrecisionRules() { return kRules; }

}  // namespace flightplan
