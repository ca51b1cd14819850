// What layers, the wrapper of their gradients and the optimizer refuse when they are made, or in the first step,
// although no config class does (NVIDIA/Megatron-LM@d98e8a64dd).
#include <algorithm>

#include "resolver/base/integers.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

bool Moe(F f) { return f.num(K::num_moe_experts) > 0; }
bool Hybrid(F f) {
  return f.on(K::is_hybrid_model) || f.set(K::hybrid_layer_pattern) || f.set(K::hybrid_override_pattern);
}
bool Fsdp(F f) { return f.on(K::use_megatron_fsdp) || f.on(K::use_torch_fsdp2); }

// Other optimizers than these are cut in ways of their own, and the command line turns the distributed one off.
std::vector<Patch> DistributedOrOne(F f) {
  std::vector<Patch> patches;
  if (f.in(K::optimizer, {"adam", "sgd"})) patches.push_back({Assign(K::use_distributed_optimizer, true)});
  patches.push_back({Assign(K::num_distributed_optimizer_instances, 1)});
  return patches;
}

int64_t MambaHeads(F f) {
  if (f.set(K::mamba_num_heads)) return f.num(K::mamba_num_heads);
  const int64_t dim = f.num(K::mamba_head_dim);
  return dim > 0 ? 2 * f.num(K::hidden_size) / dim : 0;  // the layers are twice as wide as the model
}

// Of the routed experts the fused kernels know the gated ones.
bool FusesExperts(F f) {
  return Moe(f) && f.on(K::bias_activation_fusion) &&
         !(f.on(K::gated_linear_unit) && f.in(K::activation_func, {"silu", "quick_gelu"}));
}

bool MambaCutUnevenly(F f) {
  const int64_t tp = std::max<int64_t>(1, f.num(K::tensor_model_parallel_size));
  return Hybrid(f) && (!Divisible(MambaHeads(f), tp) || !Divisible(f.num(K::mamba_num_groups), tp));
}

bool MambaCutUnevenlyByCp(F f) {
  const int64_t tp = std::max<int64_t>(1, f.num(K::tensor_model_parallel_size)), cp = f.num(K::context_parallel_size);
  if (!Hybrid(f) || cp <= 1 || MambaCutUnevenly(f)) return false;
  const int64_t heads = MambaHeads(f) / tp, groups = f.num(K::mamba_num_groups) / tp;
  if (groups <= 0) return false;
  return !Divisible(heads, cp) || !Divisible(std::max(cp, groups), std::min(cp, groups));
}

// The largest smaller size by which nothing is cut unevenly.
std::vector<Patch> NextSmaller(F f, Knob size, bool (*uneven)(int64_t heads, int64_t groups, int64_t by)) {
  const bool cp = size == K::context_parallel_size;
  const int64_t tp = cp ? std::max<int64_t>(1, f.num(K::tensor_model_parallel_size)) : 1;
  const int64_t heads = MambaHeads(f) / tp, groups = f.num(K::mamba_num_groups) / tp;
  for (int64_t by = std::min<int64_t>(f.num(size) / 2, 1 << 10); by >= 1; by /= 2) {
    if (!uneven(heads, groups, by)) return {{Assign(size, by)}};
  }
  return {};
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
    {.id = "build.shared-expert-no-bias",
     .area = "shared-expert",
     .at = {Phase::kBuild, 124},
     .source = "Megatron-LM:megatron/core/transformer/moe/shared_experts.py:124",
     .reads = {K::moe_shared_expert_intermediate_size, K::add_bias_linear, K::num_moe_experts},
     .when = [](F f) { return Moe(f) && f.on(K::moe_shared_expert_intermediate_size) && f.on(K::add_bias_linear); },
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
           return f.command_line() && f.none(K::spec) && !Hybrid(f) && f.is(K::transformer_impl, "local") &&
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
    {.id = "build.mamba-divisible-by-tp",
     .area = "divisibility",
     .at = {Phase::kBuild, 262},
     .source = "Megatron-LM:megatron/core/ssm/mamba_mixer.py:262",
     .reads = {K::is_hybrid_model, K::hybrid_layer_pattern, K::hybrid_override_pattern, K::tensor_model_parallel_size,
               K::mamba_num_heads, K::mamba_num_groups, K::mamba_head_dim, K::hidden_size},
     .when = MambaCutUnevenly,
     .needs = "tensor_model_parallel_size must divide the heads and the groups of the Mamba layers",
     .fix =
         [](F f) {
           return NextSmaller(f, K::tensor_model_parallel_size, [](int64_t heads, int64_t groups, int64_t by) {
             return !Divisible(heads, by) || !Divisible(groups, by);
           });
         }},
    {.id = "build.mamba-divisible-by-cp",
     .area = "divisibility",
     .at = {Phase::kBuild, 263},
     .source = "Megatron-LM:megatron/core/ssm/mamba_context_parallel.py:106",
     .reads = {K::is_hybrid_model, K::hybrid_layer_pattern, K::hybrid_override_pattern, K::tensor_model_parallel_size,
               K::context_parallel_size, K::mamba_num_heads, K::mamba_num_groups, K::mamba_head_dim, K::hidden_size},
     .when = MambaCutUnevenlyByCp,
     .needs = "context_parallel_size must divide a TP rank's Mamba heads, and divide its groups or be divided by them",
     .fix =
         [](F f) {
           return NextSmaller(f, K::context_parallel_size, [](int64_t heads, int64_t groups, int64_t by) {
             return !Divisible(heads, by) || !Divisible(std::max(by, groups), std::min(by, groups));
           });
         }},
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
};

}  // namespace

RuleList CoreBuildLayersRules() { return kRules; }

}  // namespace flightplan
