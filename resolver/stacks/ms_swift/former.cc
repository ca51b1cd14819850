// What older releases of ms-swift called their arguments.
#include "absl/container/flat_hash_map.h"
#include "resolver/stacks/ms_swift/arguments.h"

namespace flightplan {
namespace {

// Of 3.10 (modelscope/ms-swift@1a801723c) and 4.0 (@5050987da), by their dataclasses in swift/megatron/argument and
// arguments: those that main does not have.
constexpr SwiftFormerArgument kFormer[] = {
    {"adapter_load", "mcore_adapter"},
    {"eval_interval", "eval_steps"},
    {"load", "mcore_model"},
    {"log_interval", "logging_steps"},
    {"max_epochs", "num_train_epochs"},
    {"num_workers", "dataloader_num_workers"},
    {"ref_adapter_load", "mcore_ref_adapter"},
    {"ref_load", "mcore_ref_model"},
    {"save", "output_dir"},
    {"save_interval", "save_steps"},
    {"train_type", "tuner_type"},
};
// Gone without another in their place.
// clang-format off
constexpr absl::string_view kGone[] = {
    "add_qkv_bias", "architectures", "attention_dropout", "auto_detect_ckpt_format", "ckpt_assume_constant_structure",
    "ckpt_format", "ckpt_fully_parallel_load", "dataloader_type", "deterministic_mode", "disable_bias_linear",
    "distributed_backend", "distributed_timeout_minutes", "exist_ok", "exit_on_missing_checkpoint", "ffn_hidden_size",
    "group_query_attention", "hidden_dropout", "hidden_size", "kv_channels", "kv_lora_rank", "layer_types",
    "linear_conv_kernel_dim", "linear_key_head_dim", "linear_num_key_heads", "linear_num_value_heads",
    "linear_value_head_dim", "llm_architectures", "log_memory_to_tensorboard", "log_params_norm", "log_throughput",
    "log_timers_to_tensorboard", "log_validation_ppl_to_tensorboard", "logging_level", "lora_modules",
    "manual_gc_interval", "max_position_embeddings", "microbatch_group_size_per_virtual_pipeline_stage",
    "moe_ffn_hidden_size", "moe_layer_freq", "moe_router_bias_update_rate", "moe_router_enable_expert_bias",
    "moe_router_pre_softmax", "moe_router_score_function", "moe_router_topk", "moe_router_topk_scaling_factor",
    "moe_shared_expert_intermediate_size", "mrope_interleaved", "mrope_section", "multi_latent_attention",
    "no_bias_dropout_fusion", "no_bias_swiglu_fusion", "no_gradient_accumulation_fusion", "no_initialization",
    "no_log_learning_rate_to_tensorboard", "no_masked_softmax_fusion", "no_rope_fusion", "norm_epsilon",
    "normalization", "num_attention_heads", "num_experts", "num_layers", "num_layers_per_virtual_pipeline_stage",
    "num_query_groups", "num_virtual_stages_per_pipeline_rank", "original_max_position_embeddings",
    "padded_vocab_size", "partial_rotary_factor", "position_embedding_type", "q_lora_rank", "qk_head_dim",
    "qk_layernorm", "qk_pos_emb_head_dim", "rotary_base", "rotary_interleaved", "rotary_percent",
    "save_retain_interval", "seq_length", "swiglu", "tensorboard_log_interval", "test_convert_dtype",
    "test_convert_precision", "to_hf", "to_mcore", "transformer_impl", "untie_embeddings_and_output_weights",
    "use_flash_attn", "use_shared_expert_gate", "wandb_save_dir",
};
// clang-format on

}  // namespace

const SwiftFormerArgument* FindFormerSwiftArgument(absl::string_view name) {
  static const auto* const kAll = [] {
    auto* all = new absl::flat_hash_map<absl::string_view, SwiftFormerArgument>();
    for (const absl::string_view gone : kGone) all->emplace(gone, SwiftFormerArgument{gone, ""});
    for (const SwiftFormerArgument& former : kFormer) all->insert_or_assign(former.name, former);
    return all;
  }();
  const auto found = kAll->find(name);
  return found == kAll->end() ? nullptr : &found->second;
}

}  // namespace flightplan
