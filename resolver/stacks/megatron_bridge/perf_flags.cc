// Read from NVIDIA-NeMo/Megatron-Bridge@067f987df scripts/performance/argument_parser.py.
#include "resolver/stacks/megatron_bridge/perf_flags.h"

#include "absl/strings/match.h"

namespace flightplan {
namespace {

using K = Knob;
using Takes = PerfFlag::Takes;

constexpr PerfFlag kFlags[] = {
    {"--model_family_name", "-m"},
    {"--model_recipe_name", "-mr"},
    {"--config_variant", "-cv"},
    {"--task", "", Takes::kText, {}, "pretrain|sft|peft"},
    {"--gpu", "-g", Takes::kText, K::launch_hardware_target, "h100|b200|b300|gb200|gb300|vr200|r100"},
    {"--num_gpus", "-ng", Takes::kInt, K::launch_num_gpus},
    {"--gpus_per_node", "-gn", Takes::kInt},
    {"--compute_dtype", "-c", Takes::kText, {}, "bf16|fp8_cs|fp8_mx|fp8_sc|nvfp4"},
    {"--max_steps", "-ms", Takes::kInt, K::train_iters},
    {"--global_batch_size", "-gb", Takes::kInt, K::global_batch_size},
    {"--micro_batch_size", "-mb", Takes::kInt, K::micro_batch_size},
    {"--seq_length", "-sl", Takes::kInt, K::seq_length},
    {"--distributed_timeout_minutes", "", Takes::kInt, K::distributed_timeout_minutes},
    {"--hidden_size", "", Takes::kInt, K::hidden_size},
    {"--num_layers", "", Takes::kInt, K::num_layers},
    {"--num_moe_experts", "", Takes::kInt, K::num_moe_experts},
    {"--pipeline_model_parallel_layout", "", Takes::kText, K::pipeline_model_parallel_layout},
    {"--tensor_model_parallel_size", "-tp", Takes::kInt, K::tensor_model_parallel_size},
    {"--pipeline_model_parallel_size", "-pp", Takes::kInt, K::pipeline_model_parallel_size},
    {"--context_parallel_size", "-cp", Takes::kInt, K::context_parallel_size},
    {"--virtual_pipeline_model_parallel_size", "-vp", Takes::kText, K::virtual_pipeline_model_parallel_size},
    {"--expert_model_parallel_size", "-ep", Takes::kInt, K::expert_model_parallel_size},
    {"--expert_tensor_parallel_size", "-et", Takes::kOptionalInt, K::expert_tensor_parallel_size},
    {"--use_megatron_fsdp", "", Takes::kBool},
    {"--nccl_ub", "", Takes::kBool},
    {"--cuda_graph_impl", "", Takes::kText, {}, "none|local|transformer_engine"},
    {"--cuda_graph_scope", "", Takes::kText, {}, "full_iteration|attn|mlp|moe|moe_router|moe_preprocess|mamba"},
    {"--moe_a2a_overlap", "", Takes::kBool},
    {"--recompute_num_layers", "-rl", Takes::kInt},
    {"--recompute_modules", ""},
    {"--activation_offload_layers", "-ol", Takes::kInt},
    {"--moe_flex_dispatcher_backend", "", Takes::kText, {}, "deepep|hybridep|None"},
    {"--deterministic", "", Takes::kNothing},
    // Known to the parser, without meaning for a rule.
    {"--domain", "", Takes::kText, {}, "llm|vlm|qwen3vl|diffusion"},
    {"--use_recipes", "", Takes::kNothing},
    {"--nemo_home", "-nh"},
    {"--detach", "", Takes::kBool},
    {"--max_retries", "", Takes::kInt},
    {"--first_k_dense_replace", "", Takes::kInt},
    {"--dryrun", "-d", Takes::kNothing},
    {"--lr"},
    {"--min_lr"},
    {"--warmup_iters", "", Takes::kInt},
    {"--pretrained_checkpoint"},
    {"--save_dir"},
    {"--load_dir"},
    {"--save_interval", "", Takes::kInt},
    {"--most_recent_k", "", Takes::kInt},
    {"--data", "", Takes::kText, {}, "mock|rp2|squad|squad_packed|c4"},
    {"--c4_root"},
    {"--c4_train_shards", "", Takes::kMany},
    {"--dataset_paths", "", Takes::kMany},
    {"--dataset_root"},
    {"--index_mapping_dir"},
    {"--dataset_name"},
    {"--packed_sequence", "", Takes::kNothing},
    {"--head_only", "", Takes::kNothing},
    {"--diffusion_dataset_path"},
    {"--tokenizer_type", "", Takes::kText, {}, "NullTokenizer|HuggingFaceTokenizer|SentencePieceTokenizer"},
    {"--tokenizer_model"},
    {"--vocab_size", "", Takes::kInt},
    {"--hf_token", "-hf"},
    {"--offline", "", Takes::kNothing},
    {"--account", "-a"},
    {"--partition", "-p"},
    {"--time_limit", "-t"},
    {"--preempt_time", "", Takes::kInt},
    {"--container_image", "-i"},
    {"--custom_mounts", "-cm"},
    {"--custom_env_vars", "-ce"},
    {"--env", "-E"},
    {"--custom_srun_args", "-cs"},
    {"--custom_bash_cmds", "-cb", Takes::kMany},
    {"--gres"},
    {"--additional_slurm_params"},
    {"--packager", "", Takes::kText, {}, "git|none"},
    {"--enable_pct_binding", "", Takes::kBool},
    {"--kubeflow_namespace"},
    {"--csp", "", Takes::kText, {}, "aws|gcp"},
    {"--kubeflow_workdir_pvc"},
    {"--kubeflow_workdir_pvc_path"},
    {"--kubeflow_workdir_local_path"},
    {"--kubeflow_image_pull_secrets"},
    {"--kubeflow_volumes_json"},
    {"--kubeflow_volume_mounts_json"},
    {"--kubeflow_tolerations_json"},
    {"--kubeflow_affinity_json"},
    {"--kubeflow_env_list_json"},
    {"--kubeflow_extra_resource_requests_json"},
    {"--kubeflow_extra_resource_limits_json"},
    {"--kubeflow_pod_spec_overrides_json"},
    {"--kubeflow_pod_annotations_json"},
    {"--kubeflow_container_kwargs_json"},
    {"--kubeflow_labels_json"},
    {"--optimizer_type", "", Takes::kText, {}, "adam|muon"},
    {"--enable_vboost", "-vb", Takes::kBool},
    {"--lock_gpu_freq", "-lgc", Takes::kInt},
    {"--peak_mem_clk", "-lmc", Takes::kInt},
    {"--enable_nsys", "-en", Takes::kNothing},
    {"--export_nsys_sqlite", "", Takes::kNothing},
    {"--pytorch_profiler", "-pyp", Takes::kBool},
    {"--profiling_start_step", "", Takes::kInt},
    {"--profiling_stop_step", "", Takes::kInt},
    {"--record_memory_history", "-mh", Takes::kBool},
    {"--profiling_gpu_metrics", "", Takes::kNothing},
    {"--profiling_ranks"},
    {"--nsys_trace"},
    {"--nsys_extra_args"},
    {"--use_tokendrop", "", Takes::kBool},
    {"--wandb_key", "-wdk"},
    {"--wandb_project_name", "-wdp"},
    {"--wandb_entity_name", "-wde"},
    {"--wandb_experiment_name", "-wdj"},
    {"--wandb_save_dir", "-wds"},
    {"--log_dir", "-l"},
    {"--save_config_filepath"},
    {"--dump_env", "", Takes::kNothing},
    {"--list_config_variants", "", Takes::kNothing},
    {"--is_long_convergence_run", "", Takes::kNothing},
    {"--retry_on_testing_failure", "", Takes::kNothing},
    {"--golden_values_path"},
    {"--timing_threshold"},
    {"--skip_first_percent_time"},
    {"--correlation_threshold"},
    {"--high_loss_tolerance"},
    {"--medium_loss_tolerance"},
    {"--low_loss_tolerance"},
    {"--final_loss_tolerance"},
    {"--max_outlier_ratio"},
    {"--outlier_threshold"},
    {"--skip_first_percent_loss"},
    {"--memory_threshold"},
    {"--eval_time_start_step", "", Takes::kInt},
    {"--eval_time_end_step", "", Takes::kInt},
};

constexpr ComputeDtype kComputeDtypes[] = {{"bf16", "bf16_mixed"},
                                           {"fp8_cs", "bf16_with_fp8_current_scaling_mixed"},
                                           {"fp8_mx", "bf16_with_mxfp8_mixed"},
                                           {"fp8_sc", "bf16_with_fp8_subchannel_scaling_mixed"},
                                           {"nvfp4", "bf16_with_nvfp4_mixed"}};

}  // namespace

absl::Span<const PerfFlag> PerfFlags() { return kFlags; }

std::vector<const PerfFlag*> FindPerfFlags(absl::string_view word) {
  const absl::string_view name = word.substr(0, word.find('='));
  std::vector<const PerfFlag*> begin_so;
  for (const PerfFlag& flag : kFlags) {
    if (name == flag.name || (!flag.short_name.empty() && name == flag.short_name)) return {&flag};
    if (absl::StartsWith(name, "--") && name != "--" && absl::StartsWith(flag.name, name)) begin_so.push_back(&flag);
  }
  return begin_so;
}

absl::string_view PerfFlagOf(Knob knob) {
  for (const PerfFlag& flag : kFlags) {
    if (flag.knob == knob) return flag.short_name.empty() ? flag.name : flag.short_name;
  }
  return "";
}

absl::Span<const ComputeDtype> ComputeDtypes() { return kComputeDtypes; }

}  // namespace flightplan
