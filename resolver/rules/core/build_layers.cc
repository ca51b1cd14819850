// What layers, the wrapper of their gradients and the optimizer refuse when they are made, or in the first step,
// although no config class does (NVIDIA/Megatron-LM@d98e8a64dd).
#include "resolver/derive/pipeline.h"
#include "resolver/rules/core/hybrid_util.h"
#include "resolver/rules/core/lists_util.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

bool Fsdp(F f) { return f.on(K::use_megatron_fsdp) || f.on(K::use_torch_fsdp2); }

// Other optimizers than these are cut in ways of their own, and the command line turns the distributed one off.
std::vector<Patch> DistributedOrOne(F f) {
  std::vector<Patch> patches;
  if (f.in(K::optimizer, {"adam", "sgd"})) patches.push_back({Assign(K::use_distributed_optimizer, true)});
  patches.push_back({Assign(K::num_distributed_optimizer_instances, 1)});
  return patches;
}

// All that Megatron-Core does not build itself; until 0.17 those with Muon in the name.
bool EmergingOptimizer(F f) {
  if (f.fork() || f.in(K::optimizer, {"adam", "sgd"})) return false;  // its fork has Muon in an optimizer of its own
  return f.core(18) || f.in(K::optimizer, {"muon", "dist_muon"});
}
bool LayerWise(F f) { return f.on(K::use_layer_wise_distributed_optimizer) || f.is(K::optimizer, "dist_muon"); }

std::vector<Patch> Bf16OrAdam(F f) {
  Patch bf16 = {Assign(K::fp16, false), Assign(K::bf16, true)};
  Patch adam = {Assign(K::optimizer, "adam")};
  if (f.container()) {
    bf16.push_back(Assign(K::optimizer_fp16, false));
    bf16.push_back(Assign(K::optimizer_bf16, true));
    bf16.push_back(Assign(K::params_dtype, "bf16"));
  }
  if (f.on(K::use_layer_wise_distributed_optimizer)) {
    adam.push_back(Assign(K::use_layer_wise_distributed_optimizer, false));
  }
  return {bf16, adam};
}

// Of the routed experts the fused kernels know the gated ones.
bool FusesExperts(F f) {
  return f.moe() && f.on(K::bias_activation_fusion) &&
         !(f.on(K::gated_linear_unit) && f.in(K::activation_func, {"silu", "quick_gelu"}));
}

// Layers whose MLP is not one of routed experts: dense ones, and the shared experts beside these.
bool HasPlainMlp(F f) {
  if (!f.moe() || f.on(K::moe_shared_expert_intermediate_size)) return true;
  const Value& freq = f.value(K::moe_layer_freq);
  return freq.is_list() ? ListHasNumber(freq, 0) : freq.integer() > 1;
}
// They fuse GELU and SwiGLU; Transformer Engine's own activation and its operations take other ways.
bool FusesPlainMlp(F f) {
  if (!f.on(K::bias_activation_fusion) || f.on(K::use_te_activation_func)) return false;
  const bool fuses =
      f.is(K::activation_func, "gelu") || (f.is(K::activation_func, "silu") && f.on(K::gated_linear_unit));
  const bool by_operations = !f.moe() && f.on(K::use_transformer_engine_op_fuser);
  return HasPlainMlp(f) && !fuses && !by_operations;
}

// Those of the given sizes that are none: "hidden_size=-64".
std::string NoSizes(F f) {
  std::string none;
  for (const K size : {K::hidden_size, K::seq_length, K::num_query_groups, K::make_vocab_size_divisible_by}) {
    const Value& value = f.value(size);
    if (!f.given(size) || !value.is_int() || value.integer() > 0) continue;
    absl::StrAppend(&none, none.empty() ? "" : ", ", Name(size), "=", value.integer());
  }
  return none;
}

bool OtherPatternLength(F f) {
  const Value& freq = f.value(K::moe_layer_freq);
  return f.moe() && !f.fork() && freq.is_list() && f.num(K::num_layers) > 0 &&
         static_cast<int64_t>(freq.list().size()) != f.num(K::num_layers);
}
// Layers of one kind alone are meant to be all of them; else those behind the list are as its last.
std::vector<Patch> AllLayersOfTheList(F f) {
  const Value& freq = f.value(K::moe_layer_freq);
  if (freq.list().empty() || !ListHasNumber(freq, 0)) return {{Assign(K::moe_layer_freq, 1)}};
  if (f.num(K::num_layers) > kMostLayersOfText) return {};
  Value::List layers(freq.list().begin(), freq.list().end());
  layers.resize(static_cast<size_t>(f.num(K::num_layers)), layers.back());
  return {{Assign(K::moe_layer_freq, Value(std::move(layers)))}};
}

bool GroupsSharedExpert(F f) {
  return f.moe() && f.on(K::moe_shared_expert_intermediate_size) && f.on(K::use_grouped_gemm_for_shared_expert);
}
bool GroupedKernelRefuses(F f) {
  if (!GroupsSharedExpert(f)) return false;
  const bool swiglu = f.is(K::activation_func, "silu") && f.on(K::gated_linear_unit);
  const bool quantized =
      (f.on(K::fp4) && f.is(K::fp4_recipe, "nvfp4")) || (f.on(K::fp8) && f.is(K::fp8_recipe, "mxfp8"));
  const bool clamped = f.set(K::activation_func_clamp_value);
  return !swiglu || !quantized || f.none(K::moe_shared_expert_glu_interleave_size) || !f.te_at_least("2.14.0") ||
         (clamped && !f.te_at_least("2.17.0.dev0"));
}

// Biases go to Adam, on the distributed optimizer that owns what is no matrix; it knows no ranks of experts.
bool BiasesOfExpertRanks(F f) {
  if (!f.moe() || !f.on(K::add_bias_linear) || !EmergingOptimizer(f) || !LayerWise(f)) return false;
  const bool own_layout = f.command_line()
                              ? f.none(K::use_layer_wise_param_layout) || f.on(K::use_layer_wise_param_layout)
                              : f.on(K::use_distributed_optimizer);
  const bool own_ranks = f.num(K::expert_model_parallel_size) > 1 ||
                         (f.set(K::expert_tensor_parallel_size) &&
                          f.num(K::expert_tensor_parallel_size) != f.num(K::tensor_model_parallel_size));
  return own_layout && own_ranks;
}
std::vector<Patch> OldLayoutOrAdam(F f) {
  Patch layout = f.command_line() ? Patch{Assign(K::use_layer_wise_param_layout, false)}
                                  : Patch{Assign(K::use_layer_wise_distributed_optimizer, false)};
  Patch adam = {Assign(K::optimizer, "adam")};
  if (f.on(K::use_layer_wise_distributed_optimizer)) {
    adam.push_back(Assign(K::use_layer_wise_distributed_optimizer, false));
  }
  return {layout, adam};
}

const Rule kRules[] = {
    {.id = "build.ddp-average-per-token",
     .area = "data-parallel",
     .at = {Phase::kBuild, 10247},
     .source = "Megatron-LM:megatron/core/distributed/distributed_data_parallel.py:245",
     .reads = {K::calculate_per_token_loss, K::average_in_collective, K::use_megatron_fsdp, K::use_torch_fsdp2},
     .when = [](F f) { return !Fsdp(f) && f.on(K::calculate_per_token_loss) && f.on(K::average_in_collective); },
     .needs = "gradients of a loss per token are summed: the collective must not average them",
     .fixes = {{{K::average_in_collective, false}}}},
    {.id = "build.ddp-instances-need-distopt",
     .area = "data-parallel",
     .at = {Phase::kBuild, 10360},
     .source = "Megatron-LM:megatron/core/distributed/distributed_data_parallel.py:358",
     .reads = {K::num_distributed_optimizer_instances, K::use_distributed_optimizer, K::use_megatron_fsdp,
               K::use_torch_fsdp2, K::optimizer},
     .when =
         [](F f) {
           return !Fsdp(f) && f.num(K::num_distributed_optimizer_instances) > 1 && !f.on(K::use_distributed_optimizer);
         },
     .needs = "several instances of the distributed optimizer need use_distributed_optimizer",
     .fix = DistributedOrOne},
    {.id = "build.ddp-instances-no-fp32-scatter",
     .area = "data-parallel",
     .at = {Phase::kBuild, 10361},
     .source = "Megatron-LM:megatron/core/distributed/param_and_grad_buffer.py:233",
     .core = {16, kMain},
     .reads = {K::num_distributed_optimizer_instances, K::reduce_scatter_with_fp32_accumulation, K::use_megatron_fsdp,
               K::use_torch_fsdp2},
     .when =
         [](F f) {
           return !Fsdp(f) && f.num(K::num_distributed_optimizer_instances) > 1 &&
                  f.on(K::reduce_scatter_with_fp32_accumulation);
         },
     .needs = "several instances of the distributed optimizer reduce gradients without FP32 accumulation",
     .fixes = {{{K::reduce_scatter_with_fp32_accumulation, false},
                {K::ddp_reduce_scatter_with_fp32_accumulation, kUnset}},
               {{K::num_distributed_optimizer_instances, 1}}}},
    {.id = "build.fsdp-fused-accumulation-te",
     .area = "fsdp",
     .at = {Phase::kBuild, 10153},
     .source = "Megatron-LM:megatron/core/distributed/fsdp/mcore_fsdp_adapter.py:153",
     .core = {17, kMain},
     .reads = {K::use_megatron_fsdp, K::gradient_accumulation_fusion},
     .reads_env = {"te"},
     .when =
         [](F f) {
           return f.on(K::use_megatron_fsdp) && f.num(K::megatron_fsdp_version) != 2 &&
                  f.on(K::gradient_accumulation_fusion) && f.te_installed() && !f.te_at_least("2.10");
         },
     .needs = "Megatron-FSDP with fused gradient accumulation needs Transformer Engine 2.10",
     .fixes = {{{K::gradient_accumulation_fusion, false}}}},
    {.id = "build.moe-layer-pattern-length",
     .area = "moe",
     .at = {Phase::kBuild, 10653},
     .source = "Megatron-LM:megatron/core/models/gpt/gpt_layer_specs.py:653",
     .reads = {K::moe_layer_freq, K::num_layers, K::num_moe_experts},
     .when = OtherPatternLength,
     .needs = "a list in moe_layer_freq names every layer: as many entries as num_layers",
     .fix = AllLayersOfTheList},
    {.id = "build.sizes-positive",
     .area = "model",
     .at = {Phase::kBuild, 1},
     .source = "PyTorch: a weight of no or a negative size is none; a division by zero",
     .reads = {K::hidden_size, K::seq_length, K::num_query_groups, K::make_vocab_size_divisible_by},
     .when = [](F f) { return !NoSizes(f).empty(); },
     .needs = "a model has at least one of each",
     .detail = NoSizes},
    {.id = "build.shared-expert-no-bias",
     .area = "shared-expert",
     .at = {Phase::kBuild, 124},
     .source = "Megatron-LM:megatron/core/transformer/moe/shared_experts.py:124",
     .reads = {K::moe_shared_expert_intermediate_size, K::add_bias_linear, K::num_moe_experts},
     .when = [](F f) { return f.moe() && f.on(K::moe_shared_expert_intermediate_size) && f.on(K::add_bias_linear); },
     .needs = "shared experts have no bias",
     .fixes = {{{K::add_bias_linear, false}}}},
    {.id = "build.experts-fuse-gated",
     .area = "fusion",
     .at = {Phase::kBuild, 983},
     .source = "Megatron-LM:megatron/core/transformer/moe/experts.py:983",
     .reads = {K::bias_activation_fusion, K::activation_func, K::gated_linear_unit, K::num_moe_experts},
     .when = FusesExperts,
     .needs =
         "routed experts fuse bias and activation of SwiGLU and gated quick GELU alone; the first step stops otherwise",
     .fixes = {{{K::bias_activation_fusion, false}}}},
    {.id = "build.mlp-fuses-gelu-or-swiglu",
     .area = "fusion",
     .at = {Phase::kBuild, 319},
     .source = "Megatron-LM:megatron/core/transformer/mlp.py:319",
     .reads = {K::bias_activation_fusion, K::activation_func, K::gated_linear_unit, K::num_moe_experts,
               K::moe_shared_expert_intermediate_size},
     .when = FusesPlainMlp,
     .needs = "dense layers and shared experts fuse bias and activation of GELU and SwiGLU alone; the first step stops "
              "otherwise",
     .fixes = {{{K::bias_activation_fusion, false}}}},
    {.id = "build.grouped-shared-expert",
     .area = "shared-expert",
     .at = {Phase::kBuild, 419},
     .source = "Megatron-LM:megatron/core/transformer/moe/shared_experts.py:419",
     .core = {19, kMain},
     .reads = {K::use_grouped_gemm_for_shared_expert, K::activation_func, K::gated_linear_unit,
               K::moe_shared_expert_glu_interleave_size, K::fp8, K::fp8_recipe, K::fp4, K::fp4_recipe},
     .reads_env = {"te"},
     .when = GroupedKernelRefuses,
     .needs =
         "the shared expert as a grouped GEMM is a kernel of Transformer Engine 2.14 for SwiGLU in MXFP8 or NVFP4, "
         "with moe_shared_expert_glu_interleave_size set",
     .fixes = {{{K::use_grouped_gemm_for_shared_expert, false}}}},
    {.id = "build.yarn-not-interleaved",
     .area = "attention",
     .at = {Phase::kBuild, 30115},
     .source = "Megatron-LM:megatron/core/models/common/embeddings/yarn_rotary_pos_embedding.py:114",
     .reads = {K::position_embedding_type, K::rotary_interleaved, K::multi_latent_attention},
     .when =
         [](F f) {
           return f.is(K::position_embedding_type, "yarn") && !f.on(K::multi_latent_attention) &&
                  f.on(K::rotary_interleaved);
         },
     .needs = "YaRN does not rotate interleaved",
     .fixes = {{{K::rotary_interleaved, false}}}},
    {.id = "build.mtp-uniform-one-layer",
     .area = "recompute",
     .at = {Phase::kBuild, 1625},
     .source = "Megatron-LM:megatron/core/transformer/multi_token_prediction.py:1625",
     .reads = {K::mtp_num_layers, K::recompute_granularity, K::recompute_method, K::recompute_num_layers},
     .when =
         [](F f) {
           return f.on(K::mtp_num_layers) && f.is(K::recompute_granularity, "full") &&
                  f.is(K::recompute_method, "uniform") && f.num(K::recompute_num_layers) != 1;
         },
     .needs = "multi-token prediction recomputes its layers one by one: recompute_num_layers must be 1",
     .fixes = {{{K::recompute_num_layers, 1}}}},
    {.id = "build.local-attention-no-cp",
     .area = "context-parallel",
     .at = {Phase::kBuild, 57},
     .source = "Megatron-LM:megatron/core/transformer/dot_product_attention.py:57",
     .reads = {K::transformer_impl, K::context_parallel_size, K::spec},
     .when =
         [](F f) {
           return f.command_line() && f.none(K::spec) && !IsHybridModel(f) && f.is(K::transformer_impl, "local") &&
                  f.num(K::context_parallel_size) > 1;
         },
     .needs = "context parallelism needs Transformer Engine's attention",
     .fixes = {{{K::transformer_impl, "transformer_engine"}}, {{K::context_parallel_size, 1}}}},
    {.id = "build.mla-no-qk-l2-norm",
     .area = "attention",
     .at = {Phase::kBuild, 60},
     .source = "Megatron-LM:megatron/core/transformer/mla_qk_norm_config.py:60",
     .core = {19, kMain},
     .reads = {K::multi_latent_attention, K::qk_l2_norm},
     .when = [](F f) { return f.on(K::multi_latent_attention) && f.on(K::qk_l2_norm); },
     .needs = "multi-latent attention has no L2 norm of queries and keys",
     .fixes = {{{K::qk_l2_norm, false}}}},
    {.id = "build.fsdp-ep-overlap-double-buffer",
     .area = "ep-overlap",
     .at = {Phase::kBuild, 10178},
     .source = "Megatron-LM:megatron/core/distributed/fsdp/mcore_fsdp_adapter.py:178",
     .core = {18, kMain},
     .reads = {K::overlap_moe_expert_parallel_comm, K::use_megatron_fsdp, K::fsdp_double_buffer},
     .when =
         [](F f) {
           return f.on(K::use_megatron_fsdp) && f.on(K::overlap_moe_expert_parallel_comm) &&
                  f.on(K::fsdp_double_buffer);
         },
     .needs = "the EP overlap of Megatron-FSDP knows no double buffer",
     .fixes = {{{K::fsdp_double_buffer, false}}, {{K::overlap_moe_expert_parallel_comm, false}}}},
    {.id = "build.fsdp-ep-overlap-layer-graphs",
     .area = "ep-overlap",
     .at = {Phase::kBuild, 10182},
     .source = "Megatron-LM:megatron/core/distributed/fsdp/mcore_fsdp_adapter.py:182",
     .core = {18, kMain},
     .reads = {K::overlap_moe_expert_parallel_comm, K::use_megatron_fsdp, K::cuda_graph_impl},
     .when =
         [](F f) {
           return f.on(K::use_megatron_fsdp) && f.on(K::overlap_moe_expert_parallel_comm) &&
                  !f.in(K::cuda_graph_impl, {"none", "full_iteration"});
         },
     .needs = "the EP overlap of Megatron-FSDP knows no CUDA graphs of single layers",
     .fixes = {{{K::cuda_graph_impl, "none"}, {K::enable_cuda_graph, false}, {K::external_cuda_graph, false}},
               {{K::overlap_moe_expert_parallel_comm, false}, {K::delay_wgrad_compute, false}}}},
    {.id = "build.emerging-optimizer-no-fp16",
     .area = "optimizer",
     .at = {Phase::kBuild, 10774},
     .source = "Megatron-LM:megatron/core/optimizer/__init__.py:774",
     .core = {16, kMain},
     .reads = {K::optimizer, K::fp16},
     .when = [](F f) { return f.on(K::fp16) && EmergingOptimizer(f); },
     .needs = "Muon and its kin do not scale the loss: they train in bf16 or fp32",
     .fix = Bf16OrAdam},
    {.id = "build.layer-wise-no-gather-overlap",
     .area = "optimizer",
     .at = {Phase::kBuild, 10766},
     .source = "Megatron-LM:megatron/core/optimizer/__init__.py:766",
     .core = {18, kMain},
     .reads = {K::optimizer, K::use_layer_wise_distributed_optimizer, K::overlap_param_gather_with_optimizer_step},
     .when =
         [](F f) { return EmergingOptimizer(f) && LayerWise(f) && f.on(K::overlap_param_gather_with_optimizer_step); },
     .needs = "the layer-wise optimizer gathers parameters after its step, not beside it",
     .fixes = {{{K::overlap_param_gather_with_optimizer_step, false}}}},
    {.id = "build.layer-wise-no-expert-bias",
     .area = "optimizer",
     .at = {Phase::kBuild, 10919},
     .source = "Megatron-LM:megatron/core/optimizer/__init__.py:919",
     .core = {18, kMain},
     .reads = {K::optimizer, K::use_layer_wise_distributed_optimizer, K::use_layer_wise_param_layout,
               K::use_distributed_optimizer, K::add_bias_linear, K::expert_model_parallel_size,
               K::expert_tensor_parallel_size, K::tensor_model_parallel_size},
     .when = BiasesOfExpertRanks,
     .needs = "the layout of the layer-wise optimizer has no place for biases of experts that have ranks of their own",
     .fix = OldLayoutOrAdam},
    {.id = "build.hybrid-fsdp-shards-all",
     .area = "fsdp",
     .at = {Phase::kBuild, 12508},
     .source = "Megatron-LM:megatron/core/distributed/fsdp/src/megatron_fsdp/param_and_grad_buffer.py:2508",
     .core = {17, kMain},
     .reads = {K::use_megatron_fsdp, K::num_distributed_optimizer_instances, K::outer_dp_sharding_strategy,
               K::data_parallel_sharding_strategy},
     .when =
         [](F f) {
           return f.on(K::use_megatron_fsdp) && f.num(K::megatron_fsdp_version) != 2 &&
                  f.num(K::num_distributed_optimizer_instances) > 1 && f.set(K::outer_dp_sharding_strategy) &&
                  !f.is(K::outer_dp_sharding_strategy, "no_shard") &&
                  !f.is(K::data_parallel_sharding_strategy, "optim_grads_params");
         },
     .needs = "optimizer state sharded over the instances, too, needs parameters and gradients sharded within one",
     .fixes = {{{K::data_parallel_sharding_strategy, "optim_grads_params"}},
               {{K::outer_dp_sharding_strategy, "no_shard"}}}},
    {.id = "build.offloaded-optimizer-decoupled",
     .area = "offload",
     .at = {Phase::kBuild, 10510},
     .source = "Megatron-LM:megatron/core/optimizer/__init__.py:510",
     .reads = {K::optimizer_cpu_offload, K::decoupled_weight_decay},
     .when =
         [](F f) {
           return f.on(K::optimizer_cpu_offload) && f.set(K::decoupled_weight_decay) &&
                  !f.on(K::decoupled_weight_decay);
         },
     .needs = "the optimizer on the host is AdamW: its weight decay is decoupled",
     .fixes = {{{K::decoupled_weight_decay, true}}, {{K::optimizer_cpu_offload, false}}}},
    {.id = "build.vpp-positive",
     .area = "pipeline",
     .at = {Phase::kBuild, 10180},
     .source = "Megatron-LM:megatron/training/training.py:2389",
     .reads = {K::virtual_pipeline_model_parallel_size, K::pipeline_model_parallel_size},
     .when =
         [](F f) {
           return f.command_line() && f.num(K::pipeline_model_parallel_size) > 1 &&
                  f.set(K::virtual_pipeline_model_parallel_size) && f.num(K::virtual_pipeline_model_parallel_size) < 1;
         },
     .needs = "a rank has at least one virtual stage, or its list of models is empty",
     .fixes = {{{K::num_virtual_stages_per_pipeline_rank, kUnset},
                {K::num_layers_per_virtual_pipeline_stage, kUnset},
                {K::virtual_pipeline_model_parallel_size, kUnset}}}},
};

}  // namespace

RuleList CoreBuildLayersRules() { return kRules; }

}  // namespace flightplan
