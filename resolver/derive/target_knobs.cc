#include "resolver/derive/target_knobs.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "resolver/catalog/bridge_fields.h"
#include "resolver/catalog/defaults.h"
#include "resolver/catalog/precision_recipes.h"
#include "resolver/catalog/spellings.h"
#include "resolver/plan/stack.h"

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
    {K::fp4_param_gather, K::mixed_precision_fp4_param_gather},
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

// ---- Megatron-Bridge

// The recipe that fits the precision switches; "" when there is none to fit (fp32).
absl::string_view PrecisionRecipe(const Config& config) {
  const bool fp16 = config.Get(K::fp16).truthy();
  if (!fp16 && !config.Get(K::bf16).truthy()) return "";
  if (config.Get(K::fp4).truthy()) return fp16 ? "" : "bf16_with_nvfp4_mixed";
  if (!config.Get(K::fp8).truthy()) return fp16 ? "fp16_mixed" : "bf16_mixed";
  const absl::string_view scaling = config.Get(K::fp8_recipe).text();
  if (scaling == "mxfp8") return fp16 ? "fp16_with_mxfp8_mixed" : "bf16_with_mxfp8_mixed";
  if (scaling == "blockwise")
    return fp16 ? "fp16_with_fp8_subchannel_scaling_mixed" : "bf16_with_fp8_subchannel_scaling_mixed";
  if (scaling == "tensorwise")
    return fp16 ? "fp16_with_fp8_current_scaling_mixed" : "bf16_with_fp8_current_scaling_mixed";
  return fp16 ? "fp16_with_fp8_delayed_scaling_mixed" : "bf16_with_fp8_delayed_scaling_mixed";
}

bool AsUsual(const PrecisionConfig& recipe, K field, const Value& value) {
  return std::any_of(recipe.begin(), recipe.end(),
                     [&](const auto& entry) { return entry.first == field && entry.second == value; });
}

void NamePrecision(Config* config) {
  if (!MixedPrecisionConfigured(*config)) {
    const absl::string_view recipe = PrecisionRecipe(*config);
    if (recipe.empty()) return;
    const K source = config->Get(K::fp16).truthy() ? K::fp16 : K::bf16;
    config->Set(K::mixed_precision_recipe, Value(recipe), config->origin(source));
  }
  const PrecisionConfig* recipe = FindPrecisionRecipe(config->Get(K::mixed_precision_recipe).text());
  if (recipe == nullptr) return;
  config->ForEachNotDefault([&](K knob) {
    const std::optional<K> field = config->Given(knob) ? MixedPrecisionField(knob) : std::nullopt;
    if (!field.has_value() || config->Given(*field) || AsUsual(*recipe, *field, config->Get(knob))) return;
    config->Set(*field, config->Get(knob), config->origin(knob));
  });
}

void NameOverlap(Config* config) {
  config->ForEachNotDefault([&](K knob) {
    const std::optional<K> field = config->Given(knob) ? CommOverlapField(knob) : std::nullopt;
    if (!field.has_value() || config->Given(*field) || config->Get(knob).is_none()) return;
    config->Set(*field, config->Get(knob), config->origin(knob));
  });
}

void CopyGiven(K from, K to, Config* config) {
  if (config->Given(from) && !config->Given(to) && config->origin(to) != Origin::kAbsent) {
    config->Set(to, config->Get(from), config->origin(from));
  }
}

void UseBridgeNames(Config* config) {
  CopyGiven(K::num_virtual_stages_per_pipeline_rank, K::virtual_pipeline_model_parallel_size, config);
  CopyGiven(K::check_for_nan_in_loss_and_grad, K::check_for_nan_in_loss, config);
  CopyGiven(K::use_distributed_optimizer, K::optimizer_use_distributed_optimizer, config);
  CopyGiven(K::te_rng_tracker, K::use_te_rng_tracker, config);
  CopyGiven(K::use_te_rng_tracker, K::te_rng_tracker, config);
  CopyGiven(K::seq_length, K::dataset_seq_length, config);
  for (const auto& [field, argument] : CopiedArguments()) {
    if (Row(argument).section == Section::kArgs) CopyGiven(argument, field, config);
  }
  NamePrecision(config);
  NameOverlap(config);
}

void WriteForBridge(const Environment& env, Config* config) {
  // What the recipe will set is a change of the stack's own, from the class's default.
  for (const Pair& pair : kTwins) {
    if (config->origin(pair.canonical) != Origin::kUpstream) continue;
    const Config& defaults = DefaultsFor(env.target, env.core_release, env.bridge_release, env.mla);
    config->Set(pair.canonical, defaults.Get(pair.canonical), Origin::kDefault);
  }
  bool overlap = false;
  for (const Pair& pair : kCommOverlap) overlap |= Copy(pair.canonical, pair.target, config);
  if (overlap && config->origin(K::comm_overlap_configured) == Origin::kDefault) {
    config->Set(K::comm_overlap_configured, Value(true), Origin::kDecided);
  }
  for (const Pair& pair : kTwins) Copy(pair.canonical, pair.target, config);
  if (config->origin(K::mixed_precision_recipe) == Origin::kDefault && config->origin(K::bf16) != Origin::kAbsent) {
    const absl::string_view recipe = PrecisionRecipe(*config);
    if (!recipe.empty()) config->Set(K::mixed_precision_recipe, Value(recipe), Origin::kDecided);
  }
}

// ---- the command line of Megatron-LM and LoongForge

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

void SetFrom(Config* config, K from, K to, const Value& value) {
  if (!config->Given(from) || config->Given(to)) return;
  config->Set(to, value, config->origin(from));
}

// What core_transformer_config_from_args makes of the command line's words (Megatron-LM
// megatron/training/argument_utils.py:295), here and back.
struct ActivationWord {
  Knob word;
  absl::string_view function;
  bool gated;
};
constexpr ActivationWord kActivationWords[] = {
    {K::swiglu, "silu", true}, {K::squared_relu, "squared_relu", false}, {K::quick_geglu, "quick_gelu", true}};
// Of switches that say the opposite.
constexpr Pair kOpposites[] = {{K::persist_layer_norm, K::no_persist_layer_norm},
                               {K::share_embeddings_and_output_weights, K::untie_embeddings_and_output_weights}};
// Flags that set one field of a configuration class by another name.
constexpr Pair kFieldsOfFlags[] = {
    {K::ddp_average_in_collective, K::average_in_collective},
    {K::ddp_pad_buckets_for_high_nccl_busbw, K::pad_buckets_for_high_nccl_busbw},
    {K::use_rope_scaling, K::rope_scaling},
};
constexpr Pair kGradReduce = {K::grad_reduce_in_fp32, K::accumulate_allreduce_grads_in_fp32};

void NameActivation(Config* config) {
  const absl::string_view function = config->Get(K::activation_func).text();
  const bool gated = config->Get(K::gated_linear_unit).truthy();
  for (const ActivationWord& row : kActivationWords) {
    SetFrom(config, K::activation_func, row.word, function == row.function && (gated || !row.gated));
  }
}

void NamePipeline(Config* config) {
  const bool by_layout = config->Given(K::pipeline_model_parallel_layout);
  const bool by_layers = config->Given(K::num_layers_per_virtual_pipeline_stage);
  if (by_layout || by_layers) return;  // upstream derives the virtual size from them
  SetFrom(config, K::virtual_pipeline_model_parallel_size, K::num_virtual_stages_per_pipeline_rank,
          config->Get(K::virtual_pipeline_model_parallel_size));
}

void UseCommandLineNames(Config* config) {
  NameActivation(config);
  NamePipeline(config);
  const Value& groups = config->Get(K::num_query_groups);
  SetFrom(config, K::num_query_groups, K::group_query_attention,
          !groups.is_none() && !config->Get(K::multi_latent_attention).truthy() &&
              groups != config->Get(K::num_attention_heads));
  for (const auto& [field, argument] : CopiedArguments()) {
    const bool too_much = field == K::check_for_nan_in_grad && !config->Get(field).truthy();  // the loss's check, too
    if (!too_much) SetFrom(config, field, argument, config->Get(field));
  }
  for (const Pair& pair : kOpposites) {
    SetFrom(config, pair.canonical, pair.target, !config->Get(pair.canonical).truthy());
  }
  SetFrom(config, K::bias_activation_fusion, K::bias_swiglu_fusion, config->Get(K::bias_activation_fusion));
  SetFrom(config, K::bias_activation_fusion, K::bias_gelu_fusion, config->Get(K::bias_activation_fusion));
  // Of bf16 training a command line sums in fp32 unless it is told.
  if (config->Get(K::bf16).truthy() && config->Get(kGradReduce.canonical) == Value(false)) {
    SetFrom(config, kGradReduce.canonical, K::grad_reduce_in_bf16, Value(true));
  }
  SetFrom(config, K::params_dtype, K::bf16, config->Get(K::params_dtype).text() == "bf16");
  SetFrom(config, K::params_dtype, K::fp16, config->Get(K::params_dtype).text() == "fp16");
}

// The layers that LoongForge builds of such a family by itself.
std::vector<std::pair<Knob, Value>> DeltaNetWords(const Config& beside) {
  std::vector<std::pair<Knob, Value>> set = {{K::experimental_attention_variant, Value("gdn")},
                                             {K::attention_output_gate, Value(true)},
                                             {K::layernorm_zero_centered_gamma, Value(true)}};
  if (!beside.Given(K::linear_attention_freq)) {
    set.emplace_back(K::linear_attention_freq, Value(kOwnFullAttentionInterval));
  }
  if (beside.Get(K::moe_shared_expert_intermediate_size).truthy()) {
    set.emplace_back(K::moe_shared_expert_gate, Value(true));
  }
  return set;
}

}  // namespace

Config WriteForTarget(Config config, const Environment& env) {
  const Stack& stack = StackOf(env);
  if (stack.command_line) WriteForCommandLine(&config);
  if (stack.container) WriteForBridge(env, &config);
  UseTargetNames(env.target, &config);
  return config;
}

std::vector<std::pair<Knob, Value>> SetByPrecisionRecipe(const Config& config) {
  const bool named = config.Given(K::mixed_precision_recipe) && config.Get(K::mixed_precision_recipe).is_text();
  const absl::string_view name = named ? config.Get(K::mixed_precision_recipe).text() : PrecisionRecipe(config);
  const PrecisionConfig* const recipe = name.empty() ? nullptr : FindPrecisionRecipe(name);
  std::vector<std::pair<Knob, Value>> set;
  if (recipe == nullptr) return set;
  for (const auto& [field, value] : *recipe) {
    const auto* const twin =
        std::find_if(std::begin(kTwins), std::end(kTwins), [f = field](const Pair& pair) { return pair.target == f; });
    if (twin != std::end(kTwins)) set.emplace_back(twin->canonical, value);
  }
  return set;
}

void UseTargetNames(Target target, Config* config) {
  const Stack& stack = StackOf(target);
  if (stack.container) return UseBridgeNames(config);
  if (stack.command_line) UseCommandLineNames(config);
}

bool OwnDeltaNet(const Config& config) {
  const absl::string_view family = config.Get(K::model_family).text();
  return family == "qwen3_next" || family == "qwen3_5";
}

std::optional<std::vector<std::pair<Knob, Value>>> InOtherWords(Knob word, const Value& value, const Config& beside) {
  using Set = std::vector<std::pair<Knob, Value>>;
  const bool on = value.truthy();
  for (const ActivationWord& row : kActivationWords) {
    if (word != row.word) continue;
    return on ? Set{{K::activation_func, Value(row.function)}, {K::gated_linear_unit, Value(row.gated)}} : Set{};
  }
  for (const Pair& pair : kOpposites) {
    if (word == pair.target) return Set{{pair.canonical, Value(!on)}};
  }
  for (const Pair& pair : kFieldsOfFlags) {
    if (word == pair.canonical) return Set{{pair.target, value}};
  }
  if (word == K::rope_scaling) return Set{{K::use_rope_scaling, value}};
  if (word == K::check_for_nan_in_loss_and_grad) {
    return Set{{K::check_for_nan_in_loss, value}, {K::check_for_nan_in_grad, value}};
  }
  // Megatron-LM:megatron/training/arguments.py:607
  if (word == K::recompute_activations) return on ? Set{{K::recompute_granularity, Value("selective")}} : Set{};
  if (word == K::share_embeddings_and_output_weights) return Set{{K::untie_embeddings_and_output_weights, Value(!on)}};
  if (word == kGradReduce.target) return Set{{kGradReduce.canonical, value}};
  if (word == K::bias_swiglu_fusion || word == K::bias_gelu_fusion) {  // one switch, of the activation that there is
    const bool counts = beside.Get(K::swiglu).truthy() == (word == K::bias_swiglu_fusion);
    return counts ? Set{{K::bias_activation_fusion, Value(on)}} : Set{};
  }
  if (word == K::group_query_attention) return on ? Set{} : Set{{K::num_query_groups, Value()}};  // its number says it
  // Of a container's sections what they hold is written.
  if (word == K::comm_overlap_configured || word == K::mixed_precision_configured) return Set{};
  if (word == K::mixed_precision_recipe) return Set{};
  if (word == K::dataset_seq_length && value == beside.Get(K::seq_length)) return Set{};
  if (word == K::model_family && OwnDeltaNet(beside)) return DeltaNetWords(beside);
  return std::nullopt;
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
