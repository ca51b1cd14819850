#include "resolver/derive/candidate.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "resolver/derive/activation.h"
#include "resolver/derive/batch.h"
#include "resolver/derive/module_names.h"
#include "resolver/derive/placement.h"
#include "resolver/plan/stack.h"

namespace flightplan {
namespace {

using K = Knob;

constexpr int64_t kMaxOffloadedLayers = 1 << 15;  // beyond any real model

int32_t Size(const Config& config, Knob knob) {
  return static_cast<int32_t>(std::min<int64_t>(SizeOf(config, knob), std::numeric_limits<int32_t>::max()));
}

bool Has(const Config& config, Knob knob, absl::string_view item) {
  const Value& value = config.Get(knob);
  if (value.is_text()) return value.text() == item;
  for (const Value& entry : value.list()) {
    if (entry.text() == item) return true;
  }
  return false;
}

uint8_t DtypeBytes(const Config& config, Knob knob, uint8_t standard) {
  const absl::string_view dtype = config.Get(knob).text();
  if (dtype == "fp32" || dtype == "float32") return 4;
  if (dtype == "bf16" || dtype == "bfloat16" || dtype == "fp16" || dtype == "float16") return 2;
  if (dtype == "fp8" || dtype == "uint8") return 1;
  return standard;
}

GemmPrecision PrecisionOf(const Config& config) {
  if (config.Get(K::fp4).truthy()) return GemmPrecision::kNvfp4;
  if (config.Get(K::fp8).truthy()) {
    const absl::string_view recipe = config.Get(K::fp8_recipe).text();
    if (recipe == "mxfp8") return GemmPrecision::kMxfp8;
    if (recipe == "blockwise") return GemmPrecision::kFp8Blockwise;
    return recipe == "tensorwise" ? GemmPrecision::kFp8Tensorwise : GemmPrecision::kFp8Delayed;
  }
  if (config.Get(K::bf16).truthy()) return GemmPrecision::kBf16;
  return config.Get(K::fp16).truthy() ? GemmPrecision::kFp16 : GemmPrecision::kFp32;
}

void ReadOptimizer(const Config& config, const Environment& env, Candidate* c) {
  const auto on = [&](Knob knob) { return config.Get(knob).truthy(); };
  c->distributed_optimizer = on(K::use_distributed_optimizer);
  c->optimizer_instances = Size(config, K::num_distributed_optimizer_instances);
  // With bf16 Megatron-LM's command line accumulates in FP32 unless it is told otherwise, with fp16 only where it is
  // told to (training/arguments.py:1206). The class default of the field that its other doors set says nothing, but
  // where it is Bridge's recipe of the precision that has it so.
  const bool fp16 = on(K::fp16) && !on(K::bf16);
  const Origin reduce = config.origin(K::grad_reduce_in_fp32);
  const Value& recipe = config.Get(K::mixed_precision_grad_reduce_in_fp32);
  const bool said = (reduce != Origin::kAbsent && reduce != Origin::kDefault) || (recipe.is_bool() && !recipe.truthy());
  const bool in_fp32 = on(K::grad_reduce_in_fp32) || on(K::accumulate_allreduce_grads_in_fp32);
  const bool by_default = fp16 && StackOf(env).command_line && !recipe.truthy();
  const bool reduced = on(K::grad_reduce_in_bf16) || (!in_fp32 && (said || by_default));
  c->gradient_bytes = reduced && c->precision != GemmPrecision::kFp32 ? 2 : 4;
  c->precision_aware = on(K::use_precision_aware_optimizer);
  if (c->precision_aware) {
    c->main_param_bytes = DtypeBytes(config, K::main_params_dtype, 4);
    c->moment1_bytes = DtypeBytes(config, K::exp_avg_dtype, 4);
    c->moment2_bytes = DtypeBytes(config, K::exp_avg_sq_dtype, 4);
    // FP32 main parameters are kept as the 16 bits that the bf16 weight lacks, where Transformer Engine manages them:
    // not with scaled FP8 recipes (Megatron-LM optimizer_config.py:407, optimizer/__init__.py:588), nor beside fp16,
    // whose bits are not the upper half of FP32's (distrib_optimizer.py:1008).
    const bool managed = !c->low_precision() || c->precision == GemmPrecision::kFp8Delayed;
    const Value& remainders = config.Get(K::store_param_remainders);
    const bool split = managed && !fp16 && (remainders.is_none() || remainders.truthy());
    if (split && c->main_param_bytes == 4) c->main_param_bytes = 2;
    c->gradient_copy = !managed && c->gradient_bytes == 2;
  } else {
    c->gradient_copy = c->gradient_bytes == 2;
  }
  // Fewer moments than Adam's two: SGD's and Lion's one, and Muon's for all that is a matrix; what is none has those of
  // its scalar optimizer (core/optimizer/__init__.py:795). Of SOAP's preconditioners nothing is known here.
  const absl::string_view optimizer = config.Get(K::optimizer).text();
  c->one_moment_of_matrices = optimizer == "muon" || optimizer == "dist_muon";
  const absl::string_view scalars = c->one_moment_of_matrices ? config.Get(K::muon_scalar_optimizer).text() : optimizer;
  if (scalars == "sgd" || scalars == "lion") c->moment2_bytes = 0;
  if (optimizer == "sgd" && config.Get(K::sgd_momentum).real() <= 0) c->moment1_bytes = 0;
  // Parameters are divided over the data-parallel ranks whole (core/optimizer/layer_wise_optimizer.py): by dist_muon,
  // and where the command line makes it of the distributed optimizer. A layout of its buffers, from 0.18 on, leaves
  // what is no matrix to the distributed optimizer.
  const bool by_layer = optimizer == "dist_muon" || on(K::use_layer_wise_distributed_optimizer);
  const Value& layout = config.Get(K::use_layer_wise_param_layout);
  const bool laid_out = StackOf(env).command_line ? env.core_release >= 18 && (layout.is_none() || layout.truthy())
                                                  : c->distributed_optimizer;
  c->whole_parameters = by_layer && !laid_out;
  c->distributed_optimizer = c->distributed_optimizer || by_layer;
  // FP32 weights are the main parameters.
  const bool weights_are = c->precision == GemmPrecision::kFp32 || (c->fp32_values && !c->low_precision_weights);
  if (weights_are) c->main_param_bytes = 0;
  if (on(K::optimizer_cpu_offload)) {
    c->optimizer_offload = static_cast<float>(std::clamp(config.Get(K::optimizer_offload_fraction).real(), 0.0, 1.0));
  }
  if (on(K::use_megatron_fsdp)) {
    const absl::string_view strategy = config.Get(K::data_parallel_sharding_strategy).text();
    c->shard_weights = strategy == "optim_grads_params";
    c->shard_gradients = c->shard_weights || strategy == "optim_grads";
    c->distributed_optimizer = c->distributed_optimizer || c->shard_gradients || strategy == "optim";
    c->whole_vocabulary = c->shard_weights;
    c->outer_shards_state = config.Get(K::outer_dp_sharding_strategy).text() == "optim";
  }
  c->whole_moments = HoldsWholeMoments(config, env);
  if (on(K::use_torch_fsdp2)) c->shard_weights = c->shard_gradients = c->distributed_optimizer = true;
}

void ReadRecompute(const Config& config, Candidate* c) {
  const absl::string_view granularity = config.Get(K::recompute_granularity).text();
  if (granularity == "selective" || config.Get(K::recompute_activations).truthy()) {
    c->recompute = RecomputeMode::kSelective;
    // Unset, the stack fills in core_attn; an empty list recomputes nothing.
    c->recompute_modules = config.Get(K::recompute_modules).is_none() ? static_cast<uint16_t>(kDropCoreAttn)
                                                                      : DropBitsOf(config.Get(K::recompute_modules));
  } else if (granularity == "full") {
    c->recompute =
        config.Get(K::recompute_method).text() == "block" ? RecomputeMode::kFullBlock : RecomputeMode::kFullUniform;
    c->recompute_layers = Size(config, K::recompute_num_layers);
    c->distribute_saved = config.Get(K::distribute_saved_activations).truthy();
  }
}

void ReadOffload(const Config& config, Candidate* c) {
  if (config.Get(K::fine_grained_activation_offloading).truthy()) {
    c->offload_modules = OffloadBitsOf(config.Get(K::offload_modules), config.Get(K::offload_tensors));
    const Value& fraction = config.Get(K::activation_offload_fraction);
    if (fraction.is_number()) c->offload_fraction = static_cast<float>(std::clamp(fraction.real(), 0.0, 1.0));
  }
  if (config.Get(K::cpu_offloading).truthy()) {
    c->offload_layers = static_cast<int32_t>(
        std::clamp<int64_t>(config.Get(K::cpu_offloading_num_layers).integer(), 0, kMaxOffloadedLayers));
  }
}

// The class's default is off, which says nothing where a recipe, a file or a converter writes the model.
bool GroupedGemm(const Config& config, const Environment& env) {
  const Origin origin = config.origin(K::moe_grouped_gemm);
  const bool said = origin != Origin::kAbsent && origin != Origin::kDefault;
  return config.Get(K::moe_grouped_gemm).truthy() || (!said && !StackOf(env).command_line);
}

void ReadExperts(const Config& config, const Environment& env, const ModelShape& shape, Candidate* c) {
  const auto on = [&](Knob knob) { return config.Get(knob).truthy(); };
  const absl::string_view type = config.Get(K::moe_token_dispatcher_type).text();
  const absl::string_view backend = config.Get(K::moe_flex_dispatcher_backend).text();
  c->dispatcher = type == "allgather"     ? Dispatcher::kAllGather
                  : type != "flex"        ? Dispatcher::kAllToAll
                  : backend == "hybridep" ? Dispatcher::kHybridEp
                  : backend == "ncclep"   ? Dispatcher::kNcclEp
                                          : Dispatcher::kDeepEp;
  int64_t sms = config.Get(K::moe_flex_dispatcher_num_sms).integer();
  if (sms <= 0 && c->dispatcher == Dispatcher::kDeepEp) sms = config.Get(K::moe_deepep_num_sms).integer();
  if (sms <= 0 && c->dispatcher == Dispatcher::kHybridEp) sms = config.Get(K::moe_hybridep_num_sms).integer();
  c->num_sms = static_cast<uint16_t>(std::clamp<int64_t>(sms, 0, 1024));
  c->ep_overlap = on(K::overlap_moe_expert_parallel_comm);
  c->early_attn_release = on(K::ep_overlap_early_attn_memory_release);
  c->delay_wgrad = on(K::delay_wgrad_compute);
  c->shared_expert_overlap = on(K::moe_shared_expert_overlap);
  c->wgrad_under_dispatch = on(K::overlap_dispatch_backward_with_experts_wgrad);
  c->grouped_gemm = GroupedGemm(config, env);
  c->permute_fusion = on(K::moe_permute_fusion);
  c->activation_fusion = FusesActivation(config, shape.activation);
  c->router_fusion = on(K::moe_router_fusion);
  c->pad_for_quantization = on(K::moe_router_padding_for_quantization) || on(K::moe_router_padding_for_fp8);
  c->paged_stash = on(K::moe_paged_stash);
  const auto factor = [&](Knob knob) {
    return config.Get(knob).is_number() ? static_cast<float>(std::clamp(config.Get(knob).real(), 0.0, 1e6)) : 0.0F;
  };
  c->capacity_factor = factor(K::moe_expert_capacity_factor);
  c->rank_capacity_factor = factor(K::moe_expert_rank_capacity_factor);
  c->drop_pad = c->capacity_factor > 0 && on(K::moe_pad_expert_input_to_capacity);
  if (!shape.is_moe()) return;
  const bool uneven = c->ep >= kUnevenExpertRanks && !on(K::moe_router_force_load_balancing);
  c->imbalance = static_cast<float>(c->BusiestRows(uneven ? kTrainingImbalance : 1));
}

void ReadOverlapAndGraphs(const Config& config, const Environment& env, Candidate* c) {
  const auto on = [&](Knob knob) { return config.Get(knob).truthy(); };
  c->tp_overlap = on(K::tp_comm_overlap) && c->tp > 1;
  // Megatron-FSDP overlaps what it shards, whatever the switches say (build.fsdp-sharding-overlaps).
  const bool shards = on(K::use_megatron_fsdp) && config.Get(K::megatron_fsdp_version).integer() != 2 &&
                      env.core_release >= 16 && !StackOf(env).fork;
  const absl::string_view sharding = shards ? config.Get(K::data_parallel_sharding_strategy).text() : "";
  const bool all = sharding == "optim_grads_params";
  c->overlap_grad_reduce = on(K::overlap_grad_reduce) || all || sharding == "optim_grads";
  c->overlap_param_gather = on(K::overlap_param_gather) || all;
  c->overlap_p2p = on(K::overlap_p2p_comm);
  const absl::string_view impl = config.Get(K::cuda_graph_impl).text();
  c->graph_modules = static_cast<uint8_t>(GraphBitsOf(config.Get(K::cuda_graph_modules)) |
                                          GraphBitsOf(config.Get(K::cuda_graph_scope)));
  if (impl == "local") c->graphs = GraphImpl::kLocal;
  if (impl == "transformer_engine") c->graphs = GraphImpl::kTransformerEngine;
  // Releases before full_iteration was an implementation had it as a scope.
  const bool whole =
      Has(config, K::cuda_graph_modules, "full_iteration") || Has(config, K::cuda_graph_scope, "full_iteration");
  if (impl == "full_iteration" || (impl == "local" && whole)) c->graphs = GraphImpl::kFullIteration;
  const auto var = [&](absl::string_view name) -> absl::string_view {
    for (const EnvVars* vars : {&env.vars, &env.recipe_vars}) {
      const auto it = vars->find(name);
      if (it != vars->end()) return it->second;
    }
    return {};
  };
  for (const char* name : {"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"}) {
    const absl::string_view text = var(name);
    if (absl::StrContains(text, "expandable_segments:True")) c->expandable_segments = true;
  }
}

void ReadModules(const Config& config, const Environment& env, Candidate* c) {
  const auto on = [&](Knob knob) { return config.Get(knob).truthy(); };
  if (on(K::cross_entropy_loss_fusion)) {
    c->loss = FusedLossOf(config.Get(K::cross_entropy_fusion_impl).text(), env);
  }
  c->fp32_logits = config.Get(K::logit_dtype).text() == "fp32";
  if (on(K::defer_embedding_wgrad_compute)) {
    constexpr int32_t kAll = std::numeric_limits<int32_t>::max();
    const int64_t most = config.Get(K::wgrad_deferral_limit).integer();
    c->deferred_outputs = most > 0 ? static_cast<int32_t>(std::min<int64_t>(most, kAll)) : kAll;
  }
  c->fp32_residual = on(K::fp32_residual_connection);
  c->hidden_dropout = config.Get(K::hidden_dropout).real() > 0;
  c->attention_dropout = config.Get(K::attention_dropout).real() > 0;
  const absl::string_view attention = config.Get(K::attention_backend).text();
  if (attention == "flash") c->attention = AttentionBackend::kFlash;
  if (attention == "fused") c->attention = AttentionBackend::kFused;
  if (attention == "unfused") c->attention = AttentionBackend::kUnfused;
  if (attention == "local") c->attention = AttentionBackend::kLocal;
  const absl::string_view kernels = config.Get(K::dsa_kernel_backend).text();
  c->sparse_kernels = (kernels == "tilelang" || kernels == "cudnn") && c->attention != AttentionBackend::kUnfused;
  if (config.Get(K::dsa_indexer_loss_coeff).real() > 0) {
    c->indexer_loss = on(K::dsa_indexer_use_sparse_loss) ? IndexerLoss::kChosen : IndexerLoss::kAll;
  }
  if (Has(config, K::cp_comm_type, "a2a")) c->cp_comm = CpComm::kAllToAll;
  if (Has(config, K::cp_comm_type, "a2a+p2p")) c->cp_comm = CpComm::kAllToAllP2p;
  if (Has(config, K::cp_comm_type, "all_gather")) c->cp_comm = CpComm::kAllGather;
  if (const Value::List& levels = config.Get(K::hierarchical_context_parallel_sizes).list(); !levels.empty()) {
    c->cp_inside = static_cast<uint16_t>(std::clamp<int64_t>(levels[0].integer(), 0, 65'535));
  }
  c->grad_accumulation_fusion = on(K::gradient_accumulation_fusion);
  c->bias_activation_fusion = on(K::bias_activation_fusion) || on(K::bias_swiglu_fusion) || on(K::bias_gelu_fusion);
  c->rope_fusion = on(K::apply_rope_fusion);
  c->masked_softmax_fusion = on(K::masked_softmax_fusion);
  c->manual_gc = on(K::manual_gc);
  c->deterministic = on(K::deterministic_mode);
  c->activation_fp8_store = on(K::activation_func_fp8_input_store);
  c->transformer_engine = config.Get(K::transformer_impl).text() != "local";
  c->fused_grouped_mlp = on(K::use_transformer_engine_op_fuser);
  c->low_precision_head = c->low_precision() && on(K::fp8_output_proj);
  c->fp8_attention = on(K::fp8_dot_product_attention) || on(K::fp8_multi_head_attention);
  c->overlap_optimizer_copies = on(K::overlap_cpu_optimizer_d2h_h2d);
  if (on(K::first_last_layers_bf16)) {
    const int64_t layers =
        config.Get(K::num_layers_at_start_in_bf16).integer() + config.Get(K::num_layers_at_end_in_bf16).integer();
    c->bf16_layers = static_cast<uint16_t>(std::clamp<int64_t>(layers, 0, 65'535));
  }
}

Candidate ReadCandidate(const Config& config, const Environment& env, const ModelShape& shape,
                        const StageLayout& stages) {
  constexpr int64_t kMostTokens = int64_t{1} << 40;
  Candidate c;
  c.stages = &stages;
  // No cluster and no model has a size beyond this; the products below stay within 64 bits.
  const auto size = [&](Knob knob) { return std::min<int32_t>(Size(config, knob), 1 << 20); };
  c.tp = size(K::tensor_model_parallel_size);
  c.pp = stages.pp;
  c.vpp = stages.vpp;
  c.cp = size(K::context_parallel_size);
  c.ep = shape.is_moe() ? size(K::expert_model_parallel_size) : 1;
  // Unset, experts are split over the tensor-parallel ranks.
  c.etp = !shape.is_moe()                                        ? 1
          : config.Get(K::expert_tensor_parallel_size).is_none() ? c.tp
                                                                 : size(K::expert_tensor_parallel_size);
  c.gpus = std::clamp<int64_t>(env.world_size.value_or(0), 0, int64_t{1} << 30);
  if (c.gpus == 0) c.gpus = env.data_parallel_size.value_or(1) * c.tp * c.pp * c.cp;
  const Value& group = config.Get(K::microbatch_group_size_per_vp_stage);
  if (group.is_int()) c.microbatch_group = static_cast<int32_t>(std::clamp<int64_t>(group.integer(), 0, 1 << 20));
  c.micro_batch_size = size(K::micro_batch_size);
  c.global_batch_size = std::clamp<int64_t>(StepBatch(config, PartOfRun::kMost).value_or(0), 0, kMostTokens);
  c.seq_length = std::clamp<int64_t>(config.Get(K::seq_length).integer(), 0, kMostTokens);
  c.sequence_parallel = config.Get(K::sequence_parallel).truthy() && c.tp > 1;
  c.precision = PrecisionOf(config);
  if (c.low_precision()) {
    const auto on = [&](Knob knob) { return config.Get(knob).truthy(); };
    c.fp32_values = StackOf(env).command_line && !on(K::bf16) && !on(K::fp16);
    c.low_precision_weights = c.precision == GemmPrecision::kNvfp4 ? on(K::fp4_param) || on(K::fp4_param_gather)
                                                                   : on(K::fp8_param) || on(K::fp8_param_gather);
  }
  ReadOptimizer(config, env, &c);
  ReadRecompute(config, &c);
  ReadOffload(config, &c);
  if (shape.is_moe()) ReadExperts(config, env, shape, &c);
  ReadOverlapAndGraphs(config, env, &c);
  ReadModules(config, env, &c);
  c.adapters = AdaptersOf(config);
  return c;
}

}  // namespace

bool HoldsWholeMoments(const Config& config, const Environment& env) {
  const auto on = [&](Knob knob) { return config.Get(knob).truthy(); };
  return (on(K::use_megatron_fsdp) || on(K::use_torch_fsdp2)) && config.Get(K::optimizer).text() == "adam" &&
         !on(K::optimizer_cpu_offload) && env.te_stated && AtLeast(env.te, "2.10") && !AtLeast(env.te, "2.12");
}

double Candidate::BusiestRows(double routed) const {
  if (capacity_factor <= 0) return routed;
  return drop_pad ? capacity_factor : std::min<double>(routed, capacity_factor);
}

int64_t Candidate::DataParallel() const { return std::max<int64_t>(1, gpus / (int64_t{tp} * pp * cp)); }

int64_t Candidate::ExpertDataParallel() const { return std::max<int64_t>(1, gpus / (int64_t{etp} * ep * pp)); }

int64_t Candidate::Microbatches() const {
  return std::max<int64_t>(1, global_batch_size / std::max<int64_t>(1, micro_batch_size * DataParallel()));
}

LossKind TeLossOf(const Environment& env) {
  return AtLeast(env.te, "2.18") && !AtLeast(env.te, "2.20") ? LossKind::kTeFusedInFp32 : LossKind::kTeFused;
}

LossKind FusedLossOf(absl::string_view impl, const Environment& env) {
  if (impl == "te") return TeLossOf(env);
  return impl == "linear" ? LossKind::kLinearFused : LossKind::kNativeFused;
}

Candidate CandidateOf(const Config& config, const Environment& env, const ModelShape& shape,
                      const StageLayout& stages) {
  const Stack& stack = StackOf(env);
  if (stack.left_off.empty()) return ReadCandidate(config, env, shape, stages);
  Config run = config;
  for (const Knob knob : stack.left_off) run.Set(knob, Value(false), run.origin(knob));
  return ReadCandidate(run, env, shape, stages);
}

}  // namespace flightplan
