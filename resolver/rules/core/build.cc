// What model construction refuses although the config classes let it through (NVIDIA/Megatron-LM@d98e8a64dd). The
// process-group and schedule checks that come after it are in mesh.cc and schedule.cc.
#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "resolver/base/integers.h"
#include "resolver/base/saturating.h"
#include "resolver/plan/stack.h"
#include "resolver/rules/core/fix_util.h"
#include "resolver/rules/core/grid_util.h"
#include "resolver/rules/core/lists_util.h"
#include "resolver/rules/flex_dispatcher.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

bool Interleaved(F f) { return f.num(K::virtual_pipeline_model_parallel_size) > 1; }

// Upstream splits layers by division only where nothing else says how, as the bars of a hybrid pattern do
// (select_pipeline_segment in core/models/hybrid/hybrid_layer_allocation.py).
bool EvenSplit(F f) {
  return f.none(K::pipeline_model_parallel_layout) && !absl::StrContains(f.text(K::hybrid_layer_pattern), '|') &&
         !EndsGiven(f) && !f.on(K::account_for_embedding_in_pipeline_split) &&
         !f.on(K::account_for_loss_in_pipeline_split) && f.num(K::num_layers) > 0;
}

// The command line's own check has said it (mlm.layers-divisible-pp).
bool SplitByArguments(F f) {
  return StackOf(f.env()).command_line && f.none(K::num_virtual_stages_per_pipeline_rank) &&
         f.none(K::num_layers_per_virtual_pipeline_stage) && f.none(K::hybrid_layer_pattern);
}

// The caller's pipeline, where it can be kept, comes before a shorter one.
std::vector<Patch> NearestPp(F f) {
  std::vector<Patch> patches =
      SpreadLayers(f, SaturatingMul(f.num(K::pipeline_model_parallel_size),
                                    std::max<int64_t>(1, f.num(K::virtual_pipeline_model_parallel_size))));
  const int64_t layers = f.num(K::num_layers);
  const int64_t pp = f.num(K::pipeline_model_parallel_size);
  const auto others = Product({f.num(K::tensor_model_parallel_size), f.num(K::context_parallel_size)});
  const auto fills = [&](int64_t size) {  // the world, with the other sizes
    const auto model = Product({std::max<int64_t>(1, others.value_or(1)), size});
    return !f.env().world_size.has_value() || (model.has_value() && Divisible(*f.env().world_size, *model));
  };
  int64_t size = LargestDivisorUpTo(layers, pp);
  while (size > 1 && !fills(size)) size = LargestDivisorUpTo(layers, size - 1);
  Patch patch = {Assign(K::pipeline_model_parallel_size, size)};
  const int64_t chunks = f.num(K::virtual_pipeline_model_parallel_size);
  if (chunks > 0 && !Divisible(layers / size, chunks)) {
    patch.push_back(Assign(K::virtual_pipeline_model_parallel_size, Value()));
  }
  patches.push_back(std::move(patch));
  return patches;
}

std::vector<Patch> NearestVpp(F f) {
  const int64_t pp = std::max<int64_t>(1, f.num(K::pipeline_model_parallel_size));
  const int64_t per_rank = f.num(K::num_layers) / pp;
  const int64_t vpp = LargestDivisorUpTo(per_rank, f.num(K::virtual_pipeline_model_parallel_size));
  std::vector<Patch> patches = SpreadLayers(f, SaturatingMul(pp, f.num(K::virtual_pipeline_model_parallel_size)));
  patches.push_back({Assign(K::virtual_pipeline_model_parallel_size, vpp <= 1 ? Value() : Value(vpp))});
  return patches;
}

std::vector<Patch> NearestEp(F f) {
  return {{Assign(K::expert_model_parallel_size,
                  LargestDivisorUpTo(f.num(K::num_moe_experts), f.num(K::expert_model_parallel_size)))}};
}

bool PositiveIntVar(F f, absl::string_view name) {
  const absl::string_view text = f.var(name);
  return !text.empty() && text[0] != '0' && text[0] != '-' &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// The op fuser's grouped MLP takes gated silu, gated quick_gelu and the fused weighted squared_relu.
bool FusableActivation(F f) {
  const absl::string_view function = f.text(K::activation_func);
  const bool clamped = f.core(kMain) && f.set(K::activation_func_clamp_value) && !f.te_at_least("2.17.0.dev0");
  if (f.on(K::gated_linear_unit)) return (function == "silu" && !clamped) || function == "quick_gelu";
  return function == "squared_relu" && f.on(K::use_fused_weighted_squared_relu);
}

// Of the command line's own GPT: other stacks and models bring layers of their own.
bool TorchNormRefuses(F f) {
  const bool gpt = f.command_line() && !f.fork() && !f.set(K::spec) && !f.set(K::hybrid_layer_pattern);
  if (!gpt || !f.is(K::transformer_impl, "local") || !f.is(K::normalization, "RMSNorm")) return false;
  return f.on(K::sequence_parallel) || !f.on(K::no_persist_layer_norm) || f.on(K::layernorm_zero_centered_gamma) ||
         f.on(K::memory_efficient_layer_norm);
}

// Of one expert a softmax is taken before it is chosen: behind, it would be 1 whatever the router says.
std::vector<Patch> FewerExpertsPerToken(F f) {
  Patch patch = {Assign(K::moe_router_topk, f.num(K::num_moe_experts))};
  if (f.num(K::num_moe_experts) == 1) patch.push_back(Assign(K::moe_router_pre_softmax, true));
  return {patch};
}

const Rule kRules[] = {
    {.id = "build.experts-divisible-by-ep",
     .area = "divisibility",
     .at = {Phase::kBuild, 186},
     .source = "Megatron-LM:megatron/core/transformer/moe/moe_layer.py:186",
     .reads = {K::expert_model_parallel_size, K::num_moe_experts},
     .when =
         [](F f) {
           return (!f.command_line() || f.fork()) && f.moe() &&  // its command line says so first
                  !Divisible(f.num(K::num_moe_experts), f.num(K::expert_model_parallel_size));
         },
     .needs = "expert_model_parallel_size must divide num_moe_experts",
     .fix = NearestEp},
    {.id = "build.dispatcher-known",
     .area = "dispatcher",
     .at = {Phase::kBuild, 329},
     .source = "Megatron-LM:megatron/core/transformer/moe/moe_layer.py:329",
     .reads = {K::moe_token_dispatcher_type},
     .when =
         [](F f) {
           return f.moe() && !f.in(K::moe_token_dispatcher_type, {"allgather", "alltoall", "flex"});
         },
     .needs = "the token dispatchers are allgather, alltoall and flex",
     .fixes = {{{K::moe_token_dispatcher_type, "alltoall"}}}},
    {.id = "build.latent-vs-shared-overlap",
     .area = "shared-expert",
     .at = {Phase::kBuild, 479},
     .source = "Megatron-LM:megatron/core/transformer/moe/moe_layer.py:479",
     .reads = {K::moe_shared_expert_overlap, K::moe_latent_size},
     .when = [](F f) { return f.moe() && f.on(K::moe_latent_size) && f.on(K::moe_shared_expert_overlap); },
     .needs = "latent MoE cannot overlap the shared expert with the dispatch",
     .fixes = {{{K::moe_shared_expert_overlap, false}}}},
    {.id = "build.moe-tp-needs-sp",
     .area = "sequence-parallel",
     .at = {Phase::kBuild, 636},
     .source = "Megatron-LM:megatron/core/transformer/moe/moe_layer.py:636",
     .reads = {K::sequence_parallel, K::tensor_model_parallel_size, K::num_moe_experts},
     .when = [](F f) { return f.moe() && f.num(K::tensor_model_parallel_size) > 1 && !f.on(K::sequence_parallel); },
     .needs = "an MoE layer trained with tensor parallelism needs sequence_parallel, or its tokens are routed twice",
     .fixes = {{{K::sequence_parallel, true}}}},
    {.id = "build.flex-needs-tp-ep",
     .area = "dispatcher",
     .at = {Phase::kBuild, 1836},
     .source = "Megatron-LM:megatron/core/transformer/moe/token_dispatcher.py:1836",
     .reads = {K::moe_flex_dispatcher_backend, K::moe_token_dispatcher_type, K::expert_tensor_parallel_size,
               K::expert_model_parallel_size},
     .when =
         [](F f) {
           return (FlexWith(f, "deepep") || FlexWith(f, "ncclep")) && f.num(K::expert_tensor_parallel_size) <= 1 &&
                  f.num(K::expert_model_parallel_size) <= 1;
         },
     .needs = "deepep and ncclep need experts spread over more than one GPU",
     .fixes = {{{K::moe_token_dispatcher_type, "alltoall"}}}},
    {.id = "build.flex-backend-known",
     .area = "dispatcher",
     .at = {Phase::kBuild, 1864},
     .source = "Megatron-LM:megatron/core/transformer/moe/token_dispatcher.py:1864",
     .reads = {K::moe_flex_dispatcher_backend, K::moe_token_dispatcher_type},
     .when =
         [](F f) {
           return f.moe() && Flex(f) && f.core(17) &&
                  !f.in(K::moe_flex_dispatcher_backend, {"deepep", "hybridep", "ncclep"});
         },
     .needs = "the flex dispatcher needs a backend: deepep, hybridep or ncclep",
     .fixes = {{{K::moe_token_dispatcher_type, "alltoall"}}},
     .fix = [](F f) -> std::vector<Patch> {
       const bool missing = f.env().capabilities_known && f.env().capabilities.count("deepep") == 0;
       if (missing) return {};
       return {{Assign(K::moe_flex_dispatcher_backend, "deepep")}};
     }},
    {.id = "build.flex-backend-installed",
     .formerly = "decide.backend-not-installed",
     .area = "dispatcher",
     .at = {Phase::kBuild, 1056},
     .source = "Megatron-LM:megatron/core/transformer/moe/token_dispatcher.py:1056",
     .reads = {K::moe_flex_dispatcher_backend, K::moe_token_dispatcher_type},
     .when =
         [](F f) {
           const absl::string_view backend = f.text(K::moe_flex_dispatcher_backend);
           return f.moe() && Flex(f) && f.env().capabilities_known && !backend.empty() &&
                  f.env().capabilities.find(backend) == f.env().capabilities.end();
         },
     .needs = "the flex backend must be installed in the image; it is never replaced by alltoall in silence",
     .fixes = {{{K::moe_token_dispatcher_type, "alltoall"}}},
     .detail = [](F f) { return absl::StrCat(f.text(K::moe_flex_dispatcher_backend), " is not in your stack"); }},
    {.id = "build.local-torch-norm",
     .area = "model",
     .at = {Phase::kBuild, 1320},
     .source = "Megatron-LM:megatron/core/transformer/torch_norm.py:52",
     .reads = {K::transformer_impl, K::normalization, K::sequence_parallel, K::no_persist_layer_norm,
               K::layernorm_zero_centered_gamma, K::memory_efficient_layer_norm},
     .when = TorchNormRefuses,
     .needs = "local layers take PyTorch's RMSNorm, which knows neither sequence parallelism nor a persistent, "
              "zero-centered or memory-efficient norm",
     .fixes = {{{K::transformer_impl, "transformer_engine"}}}},
    {.id = "build.ncclep-no-drop-pad",
     .area = "dispatcher",
     .at = {Phase::kBuild, 1556},
     .source = "Megatron-LM:megatron/core/transformer/moe/token_dispatcher.py:1556",
     .core = {.since = 19},
     .reads = {K::moe_flex_dispatcher_backend, K::moe_pad_expert_input_to_capacity, K::moe_expert_capacity_factor},
     .when =
         [](F f) {
           return FlexWith(f, "ncclep") &&
                  (f.on(K::moe_pad_expert_input_to_capacity) || f.set(K::moe_expert_capacity_factor));
         },
     .needs = "ncclep neither drops tokens nor pads experts to capacity",
     .fixes = {{{K::moe_pad_expert_input_to_capacity, false}, {K::moe_expert_capacity_factor, kUnset}}}},
    {.id = "build.ncclep-zero-copy-needs-rank-capacity",
     .area = "dispatcher",
     .at = {Phase::kBuild, 1558},
     .source = "Megatron-LM:megatron/core/transformer/moe/token_dispatcher.py:1558",
     .core = {.since = 19},
     .reads = {K::moe_ncclep_zero_copy, K::moe_expert_rank_capacity_factor},
     .when =
         [](F f) {
           return FlexWith(f, "ncclep") && f.on(K::moe_ncclep_zero_copy) && f.none(K::moe_expert_rank_capacity_factor);
         },
     .needs = "zero copy needs buffers of a known size: set moe_expert_rank_capacity_factor",
     .fixes = {{{K::moe_ncclep_zero_copy, false}}}},
    {.id = "build.ncclep-rank-capacity-needs-fuser",
     .area = "dispatcher",
     .at = {Phase::kBuild, 1571},
     .source = "Megatron-LM:megatron/core/transformer/moe/token_dispatcher.py:1571",
     .core = {.since = 19},
     .reads = {K::moe_expert_rank_capacity_factor, K::use_transformer_engine_op_fuser, K::moe_grouped_gemm},
     .when =
         [](F f) {
           return FlexWith(f, "ncclep") && f.set(K::moe_expert_rank_capacity_factor) &&
                  !(f.on(K::use_transformer_engine_op_fuser) && f.on(K::moe_grouped_gemm));
         },
     .needs = "a rank capacity with ncclep needs the op fuser and grouped GEMM",
     .fixes = {{{K::use_transformer_engine_op_fuser, true},
                {K::moe_grouped_gemm, true},
                {K::moe_use_grouped_tensor, true}},
               {{K::moe_expert_rank_capacity_factor, kUnset}, {K::moe_ncclep_zero_copy, false}}}},
    {.id = "build.ncclep-rank-capacity-fp8-sm100",
     .area = "gpu-gate",
     .at = {Phase::kBuild, 1577},
     .source = "Megatron-LM:megatron/core/transformer/moe/token_dispatcher.py:1577",
     .core = {.since = 19},
     .reads = {K::moe_expert_rank_capacity_factor, K::fp8, K::fp4},
     .reads_env = {"cc_major", "NVTE_CUTEDSL_FUSED_GROUPED_MLP"},
     .when =
         [](F f) {
           return FlexWith(f, "ncclep") && f.set(K::moe_expert_rank_capacity_factor) &&
                  (f.on(K::fp8) || f.on(K::fp4)) &&
                  (f.env().cc_major < 10 || !PositiveIntVar(f, "NVTE_CUTEDSL_FUSED_GROUPED_MLP"));
         },
     .needs = "quantised experts with a rank capacity need a Blackwell GPU and NVTE_CUTEDSL_FUSED_GROUPED_MLP=1",
     .fixes = {{{K::moe_expert_rank_capacity_factor, kUnset}, {K::moe_ncclep_zero_copy, false}}}},
    {.id = "build.quantile-balancing-no-aux",
     .area = "router",
     .at = {Phase::kBuild, 227},
     .source = "Megatron-LM:megatron/core/transformer/moe/router.py:227",
     .core = {.since = 19},
     .reads = {K::moe_router_load_balancing_type, K::moe_aux_loss_coeff},
     .when =
         [](F f) {
           return f.moe() && f.is(K::moe_router_load_balancing_type, "quantile_balancing") &&
                  f.real(K::moe_aux_loss_coeff) != 0;
         },
     .needs = "quantile balancing needs no auxiliary loss",
     .fixes = {{{K::moe_aux_loss_coeff, 0}}}},
    {.id = "build.sinkhorn-no-aux",
     .area = "router",
     .at = {Phase::kBuild, 298},
     .source = "Megatron-LM:megatron/core/transformer/moe/router.py:298",
     .reads = {K::moe_router_load_balancing_type, K::moe_aux_loss_coeff},
     .when =
         [](F f) {
           return f.moe() && f.is(K::moe_router_load_balancing_type, "sinkhorn") && f.real(K::moe_aux_loss_coeff) != 0;
         },
     .needs = "sinkhorn balancing does not support an auxiliary loss",
     .fixes = {{{K::moe_aux_loss_coeff, 0}}}},
    // At the first step: torch.topk finds no k-th of fewer.
    {.id = "build.router-topk-experts",
     .area = "router",
     .at = {Phase::kBuild, 308},
     .source = "Megatron-LM:megatron/core/transformer/moe/moe_utils.py:1007",
     .reads = {K::moe_router_topk, K::num_moe_experts},
     .when = [](F f) { return f.moe() && f.num(K::moe_router_topk) > f.num(K::num_moe_experts); },
     .needs = "a token goes to at most as many experts as there are",
     .fix = FewerExpertsPerToken},
    {.id = "build.quantile-balancing-limits",
     .area = "router",
     .at = {Phase::kBuild, 327},
     .source = "Megatron-LM:megatron/core/transformer/moe/router.py:327",
     .core = {.since = 19},
     .reads = {K::moe_router_load_balancing_type, K::moe_router_fusion, K::moe_router_num_groups},
     .when =
         [](F f) {
           return f.moe() && f.is(K::moe_router_load_balancing_type, "quantile_balancing") &&
                  (f.on(K::moe_router_fusion) || f.on(K::moe_router_num_groups));
         },
     .needs = "quantile balancing works with neither the fused router nor group-limited routing",
     .fixes = {{{K::moe_router_fusion, false},
                {K::moe_router_num_groups, kUnset},
                {K::moe_router_group_topk, kUnset}}}},
    {.id = "build.grouped-mlp-bias-dropout-fusion",
     .area = "grouped-gemm",
     .at = {Phase::kBuild, 205},
     .source = "Megatron-LM:megatron/core/transformer/moe/experts.py:205",
     .reads = {K::bias_dropout_fusion, K::moe_grouped_gemm, K::add_bias_linear},
     .when =
         [](F f) {
           return f.moe() && f.on(K::moe_grouped_gemm) && f.on(K::add_bias_linear) && f.on(K::bias_dropout_fusion);
         },
     .needs = "grouped experts with a bias cannot fuse bias and dropout",
     .fixes = {{{K::bias_dropout_fusion, false}}}},
    {.id = "build.op-fuser-grouped-mlp-support",
     .area = "grouped-gemm",
     .at = {Phase::kBuild, 700},
     .source = "Megatron-LM:megatron/core/transformer/moe/experts.py (op fuser support)",
     .reads = {K::use_transformer_engine_op_fuser, K::expert_tensor_parallel_size, K::moe_apply_probs_on_input,
               K::activation_func, K::gated_linear_unit, K::offload_modules},
     .reads_env = {"te"},
     .when =
         [](F f) {
           if (!f.moe() || !f.on(K::use_transformer_engine_op_fuser) || !f.on(K::moe_grouped_gemm)) return false;
           const bool old_te = f.env().te.has_value() && !f.te_at_least("2.14.0");
           const bool offloads = f.on(K::fine_grained_activation_offloading) &&
                                 (f.has(K::offload_modules, "expert_fc1") || f.has(K::offload_modules, "moe_act"));
           return old_te || f.num(K::expert_tensor_parallel_size) > 1 || offloads ||
                  f.on(K::moe_apply_probs_on_input) || !FusableActivation(f);
         },
     .needs = "the op fuser on grouped experts needs TE 2.14 (2.17 for a clamped SwiGLU), ETP 1, a gated silu or "
              "quick_gelu, and experts neither offloaded nor fed with probabilities",
     // The capacity of a rank may be what asks for the fuser.
     .fixes = {{{K::use_transformer_engine_op_fuser, false}},
               {{K::use_transformer_engine_op_fuser, false}, {K::moe_expert_rank_capacity_factor, kUnset}}}},
    {.id = "build.apply-probs-topk1",
     .area = "moe",
     .at = {Phase::kBuild, 919},
     .source = "Megatron-LM:megatron/core/transformer/moe/experts.py:919",
     .reads = {K::moe_apply_probs_on_input, K::moe_router_topk},
     .when = [](F f) { return f.moe() && f.on(K::moe_apply_probs_on_input) && f.num(K::moe_router_topk) != 1; },
     .needs = "probabilities can be applied before the experts only when each token has one expert",
     .fixes = {{{K::moe_apply_probs_on_input, false}}}},
    {.id = "build.layers-divisible-by-pp",
     .area = "divisibility",
     .at = {Phase::kBuild, 10156},
     .source = "Megatron-LM:megatron/core/transformer/transformer_block.py:156",
     .reads = {K::num_layers, K::pipeline_model_parallel_size},
     .when =
         [](F f) {
           return EvenSplit(f) && !SplitByArguments(f) && f.num(K::pipeline_model_parallel_size) > 1 &&
                  !Divisible(f.num(K::num_layers), f.num(K::pipeline_model_parallel_size));
         },
     .needs = "pipeline_model_parallel_size must divide num_layers, or a layout must say who gets which layer",
     .fix = NearestPp},
    {.id = "build.layers-divisible-by-vpp",
     .area = "divisibility",
     .at = {Phase::kBuild, 10175},
     .source = "Megatron-LM:megatron/core/transformer/transformer_block.py:175",
     .reads = {K::num_layers, K::pipeline_model_parallel_size, K::virtual_pipeline_model_parallel_size},
     .when =
         [](F f) {
           const int64_t pp = f.num(K::pipeline_model_parallel_size);
           if (!EvenSplit(f) || pp <= 1 || !Interleaved(f) || !Divisible(f.num(K::num_layers), pp)) return false;
           return !Divisible(f.num(K::num_layers) / pp, f.num(K::virtual_pipeline_model_parallel_size));
         },
     .needs = "the layers of a pipeline rank must divide by virtual_pipeline_model_parallel_size",
     .fix = NearestVpp},
    {.id = "build.ep-overlap-vpp-no-fsdp",
     .area = "ep-overlap",
     .at = {Phase::kBuild, 20205},
     .source = "Megatron-LM:megatron/core/pipeline_parallel/combined_1f1b.py:205",
     .reads = {K::overlap_moe_expert_parallel_comm, K::use_megatron_fsdp, K::virtual_pipeline_model_parallel_size},
     .when =
         [](F f) { return f.on(K::overlap_moe_expert_parallel_comm) && f.on(K::use_megatron_fsdp) && Interleaved(f); },
     .needs = "the EP-overlap schedule does not interleave with Megatron-FSDP",
     .fixes = {{{K::overlap_moe_expert_parallel_comm, false}, {K::delay_wgrad_compute, false}}}},
    {.id = "build.ep-overlap-no-partial-checkpoints",
     .area = "ep-overlap",
     .at = {Phase::kBuild, 20343},
     .source = "Megatron-LM:megatron/core/pipeline_parallel/combined_1f1b.py:343",
     .reads = {K::overlap_moe_expert_parallel_comm, K::num_microbatches_with_partial_activation_checkpoints},
     .when =
         [](F f) {
           return f.on(K::overlap_moe_expert_parallel_comm) &&
                  f.set(K::num_microbatches_with_partial_activation_checkpoints);
         },
     .needs = "the EP-overlap schedule does not know partial activation checkpoints",
     .fixes = {{{K::num_microbatches_with_partial_activation_checkpoints, kUnset}}}},
};

}  // namespace

RuleList CoreBuildRules() { return kRules; }

}  // namespace flightplan
