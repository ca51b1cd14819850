#include "resolver/derive/target_knobs.h"

#include <utility>

namespace flightplan {
namespace {

using K = Knob;

struct Pair {
  Knob canonical;
  Knob target;
};

// Bridge's comm_overlap section; whatever is unset there is filled in by Bridge, so each decided value is repeated.
constexpr Pair kCommOverlap[] = {
    {K::overlap_moe_expert_parallel_comm, K::comm_overlap_overlap_moe_expert_parallel_comm},
    {K::delay_wgrad_compute, K::comm_overlap_delay_wgrad_compute},
    {K::tp_comm_overlap, K::comm_overlap_tp_comm_overlap},
    {K::overlap_p2p_comm, K::comm_overlap_overlap_p2p_comm},
    {K::batch_p2p_comm, K::comm_overlap_batch_p2p_comm},
    {K::overlap_grad_reduce, K::comm_overlap_overlap_grad_reduce},
    {K::overlap_param_gather, K::comm_overlap_overlap_param_gather},
};

// Values that two config classes of Bridge hold.
constexpr Pair kTwins[] = {
    {K::use_distributed_optimizer, K::optimizer_use_distributed_optimizer},
    {K::overlap_param_gather, K::optimizer_overlap_param_gather},
    {K::use_megatron_fsdp, K::dist_use_megatron_fsdp},
    // The recipe's fields, which Bridge copies over the model's and DDP's.
    {K::grad_reduce_in_fp32, K::mixed_precision_grad_reduce_in_fp32},
    {K::fp8_param_gather, K::mixed_precision_fp8_param_gather},
    {K::reuse_grad_buf_for_mxfp8_param_ag, K::mixed_precision_reuse_grad_buf_for_mxfp8_param_ag},
    {K::first_last_layers_bf16, K::mixed_precision_first_last_layers_bf16},
    {K::num_layers_at_start_in_bf16, K::mixed_precision_num_layers_at_start_in_bf16},
    {K::num_layers_at_end_in_bf16, K::mixed_precision_num_layers_at_end_in_bf16},
    {K::fp8_dot_product_attention, K::mixed_precision_fp8_dot_product_attention},
};

bool Written(Origin origin) { return origin == Origin::kDecided || origin == Origin::kCaller; }

// Copies a value that was decided or asked for, unless the place is taken.
bool Copy(Knob from, Knob to, Config* config) {
  if (!Written(config->origin(from)) || config->origin(to) == Origin::kAbsent || Written(config->origin(to)))
    return false;
  config->Set(to, config->Get(from), config->origin(from));
  return true;
}

absl::string_view PrecisionRecipe(const Config& config) {
  if (config.Get(K::fp16).truthy()) return "fp16_mixed";
  if (config.Get(K::fp4).truthy()) return "bf16_with_nvfp4_mixed";
  if (!config.Get(K::fp8).truthy()) return "bf16_mixed";
  const absl::string_view recipe = config.Get(K::fp8_recipe).text();
  if (recipe == "mxfp8") return "bf16_with_mxfp8_mixed";
  if (recipe == "tensorwise") return "bf16_with_fp8_current_scaling_mixed";
  if (recipe == "blockwise") return "bf16_with_fp8_subchannel_scaling_mixed";
  return "bf16_with_fp8_delayed_scaling_mixed";
}

void WriteForBridge(Config* config) {
  bool overlap = false;
  for (const Pair& pair : kCommOverlap) overlap |= Copy(pair.canonical, pair.target, config);
  if (overlap && config->origin(K::comm_overlap_configured) == Origin::kDefault) {
    config->Set(K::comm_overlap_configured, Value(true), Origin::kDecided);
  }
  for (const Pair& pair : kTwins) Copy(pair.canonical, pair.target, config);
  if (config->origin(K::mixed_precision_recipe) == Origin::kDefault && config->origin(K::bf16) != Origin::kAbsent &&
      (config->Get(K::bf16).truthy() || config->Get(K::fp16).truthy())) {
    config->Set(K::mixed_precision_recipe, Value(PrecisionRecipe(*config)), Origin::kDecided);
  }
}

// The command line counts virtual stages, or reads them from the layout; the config class's own field has no flag.
void WriteForCommandLine(Config* config) {
  const Value stages = config->Get(K::virtual_pipeline_model_parallel_size);
  const Origin origin = config->origin(K::virtual_pipeline_model_parallel_size);
  if (!Written(origin)) return;
  config->Set(K::virtual_pipeline_model_parallel_size, Value(), Origin::kDefault);
  const bool layout = !config->Get(K::pipeline_model_parallel_layout).is_none();
  const bool taken = Written(config->origin(K::num_virtual_stages_per_pipeline_rank)) ||
                     Written(config->origin(K::num_layers_per_virtual_pipeline_stage));
  if (layout || taken || stages.integer() <= 1) return;
  config->Set(K::num_virtual_stages_per_pipeline_rank, stages, origin);
}

}  // namespace

Config WriteForTarget(Config config, const Environment& env) {
  switch (env.target) {
    case Target::kCore:
      break;
    case Target::kMegatronLm:
    case Target::kLoongForge:
      WriteForCommandLine(&config);
      break;
    case Target::kMegatronBridge:
      WriteForBridge(&config);
      break;
  }
  return config;
}

Knob CanonicalKnob(Knob knob) {
  for (const Pair& pair : kCommOverlap) {
    if (pair.target == knob) return pair.canonical;
  }
  for (const Pair& pair : kTwins) {
    if (pair.target == knob) return pair.canonical;
  }
  if (knob == K::num_virtual_stages_per_pipeline_rank) return K::virtual_pipeline_model_parallel_size;
  return knob;
}

}  // namespace flightplan
