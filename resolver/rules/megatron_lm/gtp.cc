// Weight shards over the GTP axis (generalized tensor parallelism).
#include "absl/strings/ascii.h"
#include "resolver/rules/megatron_lm/cli_util.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

bool ShardsMxfp8(F f) { return HasWeightShards(f) && f.is(K::fp8_recipe, "mxfp8"); }

void AddGtpStreams(Editor& e) {
  if (!HasWeightShards(e.facts()) || e.env().cc_major < 10) return;
  AddStreamGroup(e, "gtp_remat");
  if (ExpertGtp(e.facts()) > 1) AddStreamGroup(e, "expt_gtp_remat");
}

const Rule kRules[] = {
    {.id = "mlm.egtp-derived",
     .area = "parallelism",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 1506},
     .source = "Megatron-LM:megatron/training/arguments.py:1506",
     .core = {19, kMain},
     .reads = {K::expert_tensor_parallel_num_weight_shards, K::expert_tensor_parallel_size},
     .change =
         [](Editor& e) {
           DeriveWeightShards(e, K::expert_tensor_parallel_num_weight_shards, K::expert_gtp_weight_remat_size,
                              K::expert_tensor_parallel_size);
         }},
    {.id = "mlm.gtp-fp4",
     .area = "gtp",
     .at = {Phase::kCliValidate, 1517},
     .source = "Megatron-LM:megatron/training/arguments.py:1517",
     .core = {19, kMain},
     .reads = {K::tensor_parallel_num_weight_shards, K::expert_tensor_parallel_num_weight_shards, K::fp4,
               K::fp4_param_gather},
     .when = [](F f) { return HasWeightShards(f) && f.on(K::fp4) && !f.on(K::fp4_param_gather); },
     .needs = "weight shards with FP4 need fp4_param_gather",
     .fixes = {{{K::fp4_param_gather, true}},
               {{K::tensor_parallel_num_weight_shards, kUnset},
                {K::expert_tensor_parallel_num_weight_shards, kUnset}}}},
    {.id = "mlm.gtp-priority-streams",
     .area = "gtp",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 1530},
     .source = "Megatron-LM:megatron/training/arguments.py:1530",
     .core = {19, kMain},
     .reads = {K::high_priority_stream_groups},
     .change = [](Editor& e) { AddGtpStreams(e); }},
    {.id = "mlm.gtp-graph-priority",
     .area = "env",
     .at = {Phase::kCliValidate, 1541},
     .source = "Megatron-LM:megatron/training/arguments.py:1541",
     .core = {19, kMain},
     .reads = {K::tensor_parallel_num_weight_shards, K::expert_tensor_parallel_num_weight_shards, K::cuda_graph_impl},
     .reads_env = {"CUDA_GRAPHS_USE_NODE_PRIORITY", "gpu"},
     .when =
         [](F f) {
           return HasWeightShards(f) && f.env().cc_major >= 10 && !f.is(K::cuda_graph_impl, "none") &&
                  f.var("CUDA_GRAPHS_USE_NODE_PRIORITY") != "1";
         },
     .needs = "weight shards with CUDA graphs on Blackwell need CUDA_GRAPHS_USE_NODE_PRIORITY=1",
     .fixes = {{{{}, "1", "CUDA_GRAPHS_USE_NODE_PRIORITY"}},
               {{K::tensor_parallel_num_weight_shards, kUnset},
                {K::expert_tensor_parallel_num_weight_shards, kUnset}}}},
    {.id = "mlm.gtp-nccl-proto",
     .area = "env",
     .kind = Kind::kWarning,
     .at = {Phase::kCliValidate, 1547},
     .source = "Megatron-LM:megatron/training/arguments.py:1547",
     .core = {19, kMain},
     .reads = {K::tensor_parallel_num_weight_shards, K::expert_tensor_parallel_num_weight_shards},
     .reads_env = {"NCCL_PROTO"},
     .when = [](F f) { return HasWeightShards(f) && absl::AsciiStrToLower(f.var("NCCL_PROTO")) == "simple"; },
     .needs = "weight shards run better with NCCL_PROTO LL128 or LL"},
    {.id = "mlm.gtp-no-avg-collective",
     .area = "gtp",
     .at = {Phase::kCliValidate, 1553},
     .source = "Megatron-LM:megatron/training/arguments.py:1553",
     .core = {19, kMain},
     .reads = {K::tensor_parallel_num_weight_shards, K::expert_tensor_parallel_num_weight_shards,
               K::ddp_average_in_collective},
     .when = [](F f) { return HasWeightShards(f) && f.on(K::ddp_average_in_collective); },
     .needs = "weight shards exclude ddp_average_in_collective",
     .fixes = {{{K::ddp_average_in_collective, false}},
               {{K::tensor_parallel_num_weight_shards, kUnset},
                {K::expert_tensor_parallel_num_weight_shards, kUnset}}}},
    {.id = "mlm.gtp-ckpt",
     .area = "gtp",
     .at = {Phase::kCliValidate, 1558},
     .source = "Megatron-LM:megatron/training/arguments.py:1558",
     .core = {19, kMain},
     .reads = {K::tensor_parallel_num_weight_shards, K::expert_tensor_parallel_num_weight_shards, K::ckpt_format},
     .when =
         [](F f) {
           return HasWeightShards(f) && !f.in(K::ckpt_format, {"torch", "torch_dist"});
         },
     .needs = "weight shards need ckpt_format torch or torch_dist",
     .fixes = {{{K::ckpt_format, "torch_dist"}},
               {{K::tensor_parallel_num_weight_shards, kUnset},
                {K::expert_tensor_parallel_num_weight_shards, kUnset}}}},
    {.id = "mlm.gtp-mem-efficient",
     .area = "checkpoint",
     .at = {Phase::kCliValidate, 1562},
     .source = "Megatron-LM:megatron/training/arguments.py:1562",
     .core = {19, kMain},
     .reads = {K::tensor_parallel_num_weight_shards, K::expert_tensor_parallel_num_weight_shards,
               K::dist_ckpt_optim_fully_reshardable, K::distrib_optim_fully_reshardable_mem_efficient},
     .when =
         [](F f) {
           return HasWeightShards(f) && f.on(K::dist_ckpt_optim_fully_reshardable) &&
                  f.on(K::distrib_optim_fully_reshardable_mem_efficient);
         },
     .needs = "weight shards exclude the memory-efficient fully reshardable checkpoint",
     .fixes = {{{K::distrib_optim_fully_reshardable_mem_efficient, false}},
               {{K::tensor_parallel_num_weight_shards, kUnset},
                {K::expert_tensor_parallel_num_weight_shards, kUnset}}}},
    {.id = "mlm.gtp-mxfp8-fp8pg",
     .area = "gtp",
     .at = {Phase::kCliValidate, 1576},
     .source = "Megatron-LM:megatron/training/arguments.py:1576",
     .core = {19, kMain},
     .reads = {K::tensor_parallel_num_weight_shards, K::expert_tensor_parallel_num_weight_shards, K::fp8_recipe,
               K::fp8_param_gather},
     .when = [](F f) { return ShardsMxfp8(f) && !f.on(K::fp8_param_gather); },
     .needs = "weight shards with MXFP8 need fp8_param_gather",
     .fixes = {{{K::fp8_param_gather, true}},
               {{K::tensor_parallel_num_weight_shards, kUnset},
                {K::expert_tensor_parallel_num_weight_shards, kUnset}}}},
    {.id = "mlm.gtp-mxfp8-reuse",
     .area = "gtp",
     .at = {Phase::kCliValidate, 1583},
     .source = "Megatron-LM:megatron/training/arguments.py:1583",
     .core = {19, kMain},
     .reads = {K::tensor_parallel_num_weight_shards, K::expert_tensor_parallel_num_weight_shards, K::fp8_recipe,
               K::reuse_grad_buf_for_mxfp8_param_ag},
     .when = [](F f) { return ShardsMxfp8(f) && !f.on(K::reuse_grad_buf_for_mxfp8_param_ag); },
     .needs = "weight shards with MXFP8 need reuse_grad_buf_for_mxfp8_param_ag",
     .fixes = {{{K::reuse_grad_buf_for_mxfp8_param_ag, true}},
               {{K::tensor_parallel_num_weight_shards, kUnset},
                {K::expert_tensor_parallel_num_weight_shards, kUnset}}}},
    {.id = "mlm.gtp-symmetric",
     .area = "checkpoint",
     .at = {Phase::kCliValidate, 1592},
     .source = "Megatron-LM:megatron/training/arguments.py:1592",
     .core = {kMain, kMain},
     .reads = {K::tensor_parallel_num_weight_shards, K::expert_tensor_parallel_num_weight_shards, K::gtp_remat_nccl_ub,
               K::gtp_expert_remat_nccl_ub, K::disable_symmetric_registration},
     .when =
         [](F f) {
           return HasWeightShards(f) && (f.on(K::gtp_remat_nccl_ub) || f.on(K::gtp_expert_remat_nccl_ub)) &&
                  f.on(K::disable_symmetric_registration);
         },
     .needs = "user buffers for weight shards need symmetric registration",
     .fixes = {{{K::disable_symmetric_registration, false}},
               {{K::tensor_parallel_num_weight_shards, kUnset},
                {K::expert_tensor_parallel_num_weight_shards, kUnset}}}},
};

}  // namespace

RuleList MegatronLmGtpRules() { return kRules; }

}  // namespace flightplan
