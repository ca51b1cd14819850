#include "resolver/catalog/precision_recipes.h"

#include <array>
#include <map>
#include <string>

#include "absl/strings/str_replace.h"
#include "absl/types/span.h"

namespace flightplan {
namespace {

using K = Knob;

struct Field {
  K knob{};
  const char* json = "null";
};

constexpr Field kDefaults[] = {
    {K::fp32, "false"},
    {K::mixed_precision_fp16, "false"},
    {K::mixed_precision_bf16, "false"},
    {K::mixed_precision_params_dtype, "null"},
    {K::mixed_precision_pipeline_dtype, "null"},
    {K::mixed_precision_autocast_dtype, "null"},
    {K::autocast_enabled, "false"},
    {K::mixed_precision_grad_reduce_in_fp32, "true"},
    {K::mixed_precision_fp8, "null"},
    {K::mixed_precision_fp8_recipe, "\"tensorwise\""},  // core's own default is "delayed"
    {K::mixed_precision_first_last_layers_bf16, "false"},
    {K::mixed_precision_fp8_margin, "0"},
    {K::mixed_precision_fp8_amax_history_len, "1"},
    {K::mixed_precision_fp8_amax_compute_algo, "\"most_recent\""},
    {K::mixed_precision_fp8_wgrad, "true"},
    {K::mixed_precision_fp8_dot_product_attention, "false"},
    {K::mixed_precision_fp8_multi_head_attention, "false"},
    {K::mixed_precision_fp8_param_gather, "false"},
    {K::mixed_precision_fp4, "null"},
    {K::mixed_precision_fp4_recipe, "\"nvfp4\""},
    {K::mixed_precision_fp4_param_gather, "false"},
    {K::mixed_precision_loss_scale, "null"},
    {K::mixed_precision_initial_loss_scale, "4294967296"},
    {K::mixed_precision_min_loss_scale, "1.0"},
    {K::mixed_precision_loss_scale_window, "1000"},
    {K::mixed_precision_hysteresis, "2"},
    {K::mixed_precision_num_layers_at_start_in_bf16, "0"},
    {K::mixed_precision_num_layers_at_end_in_bf16, "0"},
    {K::mixed_precision_reuse_grad_buf_for_mxfp8_param_ag, "false"},
};

// ---- what the recipes have in common

constexpr Field kBf16[] = {{K::mixed_precision_bf16, "true"},
                           {K::mixed_precision_params_dtype, "\"bf16\""},
                           {K::mixed_precision_pipeline_dtype, "\"bf16\""}};
constexpr Field kFp16[] = {{K::mixed_precision_fp16, "true"},
                           {K::mixed_precision_params_dtype, "\"fp16\""},
                           {K::mixed_precision_pipeline_dtype, "\"fp16\""},
                           {K::mixed_precision_grad_reduce_in_fp32, "false"}};
constexpr Field kDelayed[] = {{K::mixed_precision_fp8, "\"hybrid\""},
                              {K::mixed_precision_fp8_recipe, "\"delayed\""},
                              {K::mixed_precision_fp8_amax_history_len, "1024"},
                              {K::mixed_precision_fp8_amax_compute_algo, "\"max\""},
                              {K::mixed_precision_fp8_param_gather, "true"}};
constexpr Field kMxfp8[] = {{K::mixed_precision_fp8, "\"e4m3\""},
                            {K::mixed_precision_fp8_recipe, "\"mxfp8\""},
                            {K::mixed_precision_fp8_param_gather, "true"},
                            {K::mixed_precision_reuse_grad_buf_for_mxfp8_param_ag, "true"}};
constexpr Field kCurrent[] = {{K::mixed_precision_fp8, "\"hybrid\""},
                              {K::mixed_precision_fp8_recipe, "\"tensorwise\""},
                              {K::mixed_precision_first_last_layers_bf16, "true"},
                              {K::mixed_precision_num_layers_at_start_in_bf16, "1"},
                              {K::mixed_precision_num_layers_at_end_in_bf16, "1"},
                              {K::mixed_precision_fp8_param_gather, "true"}};
constexpr Field kTwoAtEachEnd[] = {{K::mixed_precision_num_layers_at_start_in_bf16, "2"},
                                   {K::mixed_precision_num_layers_at_end_in_bf16, "2"}};
constexpr Field kBlockwiseTwoAtEachEnd[] = {{K::mixed_precision_fp8_recipe, "\"blockwise\""},
                                            {K::mixed_precision_num_layers_at_start_in_bf16, "2"},
                                            {K::mixed_precision_num_layers_at_end_in_bf16, "2"}};
constexpr Field kSubchannel[] = {{K::mixed_precision_fp8, "\"hybrid\""},
                                 {K::mixed_precision_fp8_recipe, "\"blockwise\""}};
constexpr Field kNvfp4[] = {{K::mixed_precision_fp4, "\"e2m1\""}, {K::mixed_precision_fp4_param_gather, "true"}};
constexpr Field kFourteenAtEnd[] = {{K::mixed_precision_first_last_layers_bf16, "true"},
                                    {K::mixed_precision_num_layers_at_end_in_bf16, "14"}};

struct Recipe {
  const char* name;
  std::array<absl::Span<const Field>, 3> layers;  // a later one overrides an earlier one
};

const Recipe kRecipes[] = {
    {"", {}},
    {"bf16_mixed", {kBf16}},
    {"fp16_mixed", {kFp16}},
    {"bf16_with_fp8_delayed_scaling_mixed", {kBf16, kDelayed}},
    {"fp16_with_fp8_delayed_scaling_mixed", {kFp16, kDelayed}},
    {"bf16_with_mxfp8_mixed", {kBf16, kMxfp8}},
    {"fp16_with_mxfp8_mixed", {kFp16, kMxfp8}},
    {"bf16_with_fp8_current_scaling_mixed", {kBf16, kCurrent}},
    {"fp16_with_fp8_current_scaling_mixed", {kFp16, kCurrent}},
    {"nemotron_h_bf16_with_fp8_current_scaling_mixed", {kBf16, kCurrent, kTwoAtEachEnd}},
    {"nanov2_bf16_with_fp8_current_scaling_mixed", {kBf16, kCurrent, kBlockwiseTwoAtEachEnd}},
    {"bf16_with_fp8_subchannel_scaling_mixed", {kBf16, kSubchannel}},
    {"fp16_with_fp8_subchannel_scaling_mixed", {kFp16, kSubchannel}},
    {"bf16_with_nvfp4_mixed", {kBf16, kNvfp4}},
    {"nemotron_3_super_bf16_with_nvfp4_mixed", {kBf16, kNvfp4, kFourteenAtEnd}},
};

PrecisionConfig Expand(const Recipe& recipe) {
  PrecisionConfig config;
  for (const Field& field : kDefaults) {
    const char* json = field.json;
    for (absl::Span<const Field> layer : recipe.layers) {
      for (const Field& own : layer) {
        if (own.knob == field.knob) json = own.json;
      }
    }
    config.emplace_back(field.knob, ValueFromJson(json).value_or(Value()));
  }
  return config;
}

}  // namespace

const PrecisionConfig* FindPrecisionRecipe(absl::string_view name) {
  static const auto* const kExpanded = [] {
    auto* all = new std::map<std::string, PrecisionConfig>();
    for (const Recipe& recipe : kRecipes) all->emplace(recipe.name, Expand(recipe));
    return all;
  }();
  auto it = kExpanded->find(absl::StrReplaceAll(name, {{"-", "_"}}));
  return it == kExpanded->end() ? nullptr : &it->second;
}

}  // namespace flightplan
