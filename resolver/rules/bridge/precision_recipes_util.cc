#include "resolver/rules/bridge/precision_recipes_util.h"

#include "absl/strings/str_replace.h"

namespace flightplan {
namespace {

using K = Knob;
using Fields = ConstList<PrecisionField, 10>;

constexpr PrecisionField kDefaults[] = {
    {K::fp32, false},
    {K::mixed_precision_fp16, false},
    {K::mixed_precision_bf16, false},
    {K::mixed_precision_params_dtype, kUnset},
    {K::mixed_precision_pipeline_dtype, kUnset},
    {K::mixed_precision_autocast_dtype, kUnset},
    {K::autocast_enabled, false},
    {K::mixed_precision_grad_reduce_in_fp32, true},
    {K::mixed_precision_fp8, kUnset},
    {K::mixed_precision_fp8_recipe, "tensorwise"},  // core's own default is "delayed"
    {K::mixed_precision_first_last_layers_bf16, false},
    {K::mixed_precision_fp8_margin, 0},
    {K::mixed_precision_fp8_amax_history_len, 1},
    {K::mixed_precision_fp8_amax_compute_algo, "most_recent"},
    {K::mixed_precision_fp8_wgrad, true},
    {K::mixed_precision_fp8_dot_product_attention, false},
    {K::mixed_precision_fp8_multi_head_attention, false},
    {K::mixed_precision_fp8_param_gather, false},
    {K::mixed_precision_fp4, kUnset},
    {K::mixed_precision_fp4_recipe, "nvfp4"},
    {K::mixed_precision_fp4_param_gather, false},
    {K::mixed_precision_loss_scale, kUnset},
    {K::mixed_precision_initial_loss_scale, int64_t{1} << 32},
    {K::mixed_precision_min_loss_scale, 1},
    {K::mixed_precision_loss_scale_window, 1000},
    {K::mixed_precision_hysteresis, 2},
    {K::mixed_precision_num_layers_at_start_in_bf16, 0},
    {K::mixed_precision_num_layers_at_end_in_bf16, 0},
    {K::mixed_precision_reuse_grad_buf_for_mxfp8_param_ag, false},
};

constexpr PrecisionField kBf16[] = {{K::mixed_precision_bf16, true},
                                    {K::mixed_precision_params_dtype, "bf16"},
                                    {K::mixed_precision_pipeline_dtype, "bf16"}};
constexpr PrecisionField kFp16[] = {{K::mixed_precision_fp16, true},
                                    {K::mixed_precision_params_dtype, "fp16"},
                                    {K::mixed_precision_pipeline_dtype, "fp16"},
                                    {K::mixed_precision_grad_reduce_in_fp32, false}};

constexpr Fields kDelayed = {{K::mixed_precision_fp8, "hybrid"},
                             {K::mixed_precision_fp8_recipe, "delayed"},
                             {K::mixed_precision_fp8_amax_history_len, 1024},
                             {K::mixed_precision_fp8_amax_compute_algo, "max"},
                             {K::mixed_precision_fp8_param_gather, true}};
constexpr Fields kMxfp8 = {{K::mixed_precision_fp8, "e4m3"},
                           {K::mixed_precision_fp8_recipe, "mxfp8"},
                           {K::mixed_precision_fp8_param_gather, true},
                           {K::mixed_precision_reuse_grad_buf_for_mxfp8_param_ag, true}};
constexpr Fields kSubchannel = {{K::mixed_precision_fp8, "hybrid"}, {K::mixed_precision_fp8_recipe, "blockwise"}};

// Per-tensor or blockwise scaling with `layers` BF16 layers at each end.
constexpr Fields Current(absl::string_view recipe, int layers) {
  return {{K::mixed_precision_fp8, "hybrid"},
          {K::mixed_precision_fp8_recipe, recipe},
          {K::mixed_precision_first_last_layers_bf16, true},
          {K::mixed_precision_num_layers_at_start_in_bf16, layers},
          {K::mixed_precision_num_layers_at_end_in_bf16, layers},
          {K::mixed_precision_fp8_param_gather, true}};
}

struct Recipe {
  absl::string_view name;
  absl::Span<const PrecisionField> base;
  Fields own;
};

constexpr Recipe kRecipes[] = {
    {"bf16_mixed", kBf16, {}},
    {"fp16_mixed", kFp16, {}},
    {"bf16_with_fp8_delayed_scaling_mixed", kBf16, kDelayed},
    {"fp16_with_fp8_delayed_scaling_mixed", kFp16, kDelayed},
    {"bf16_with_mxfp8_mixed", kBf16, kMxfp8},
    {"fp16_with_mxfp8_mixed", kFp16, kMxfp8},
    {"bf16_with_fp8_current_scaling_mixed", kBf16, Current("tensorwise", 1)},
    {"nemotron_h_bf16_with_fp8_current_scaling_mixed", kBf16, Current("tensorwise", 2)},
    {"nanov2_bf16_with_fp8_current_scaling_mixed", kBf16, Current("blockwise", 2)},
    {"fp16_with_fp8_current_scaling_mixed", kFp16, Current("tensorwise", 1)},
    {"bf16_with_fp8_subchannel_scaling_mixed", kBf16, kSubchannel},
    {"fp16_with_fp8_subchannel_scaling_mixed", kFp16, kSubchannel},
    {"bf16_with_nvfp4_mixed",
     kBf16,
     {{K::mixed_precision_fp4, "e2m1"}, {K::mixed_precision_fp4_param_gather, true}}},
    {"nemotron_3_super_bf16_with_nvfp4_mixed",
     kBf16,
     {{K::mixed_precision_fp4, "e2m1"},
      {K::mixed_precision_fp4_param_gather, true},
      {K::mixed_precision_first_last_layers_bf16, true},
      {K::mixed_precision_num_layers_at_end_in_bf16, 14}}},
};

}  // namespace

absl::Span<const PrecisionField> PrecisionDefaults() { return kDefaults; }

bool FindPrecisionRecipe(absl::string_view name, absl::Span<const PrecisionField>* base,
                         absl::Span<const PrecisionField>* own) {
  const std::string wanted = absl::StrReplaceAll(name, {{"-", "_"}});
  for (const Recipe& recipe : kRecipes) {
    if (recipe.name != wanted) continue;
    *base = recipe.base;
    *own = absl::MakeConstSpan(recipe.own.items.data(), recipe.own.size);
    return true;
  }
  return false;
}

}  // namespace flightplan
