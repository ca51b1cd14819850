// Megatron-FSDP under Bridge: version 1 adjusts the configs around it, version 2 refuses almost everything beside plain
// data parallelism. Both run inside ConfigContainer.validate, after the model was finalized.
// Sub-lines are those of NVIDIA-NeMo/Megatron-Bridge@067f987df src/megatron/bridge/training/config.py.
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

constexpr int kCall = 1485;  // where validate calls the two

constexpr Place At(int line) { return {Phase::kContainer, kCall, line}; }

bool Fsdp(F f) { return f.on(K::use_megatron_fsdp) || f.on(K::dist_use_megatron_fsdp); }
bool V2(F f) { return Fsdp(f) && f.bridge(kMain) && f.num(K::megatron_fsdp_version) == 2; }
bool V1(F f) { return Fsdp(f) && !V2(f); }

// Version 1 takes almost everything; what it refuses as well goes along.
std::vector<Patch> UseV1(F f) {
  Patch patch = {Assign(K::megatron_fsdp_version, 1)};
  if (f.on(K::use_tp_pp_dp_mapping)) patch.push_back(Assign(K::use_tp_pp_dp_mapping, false));
  if (f.set(K::check_weight_hash_across_dp_replicas_interval)) {
    patch.push_back(Assign(K::check_weight_hash_across_dp_replicas_interval, Value()));
  }
  return {patch};
}
constexpr ReleaseRange kNewest = {.since = kMain};

const Rule kRules[] = {
    {.id = "fsdp.megatron-vs-torch",
     .area = "ddp",
     .at = {Phase::kContainer, 1482},
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1482",
     .reads = {K::dist_use_megatron_fsdp, K::use_torch_fsdp2},
     .when = [](F f) { return f.on(K::dist_use_megatron_fsdp) && f.on(K::use_torch_fsdp2); },
     .needs = "Megatron-FSDP or torch FSDP2, not both",
     .fixes = {{{K::use_torch_fsdp2, false}}, {{K::dist_use_megatron_fsdp, false}, {K::use_megatron_fsdp, false}}}},
    {.id = "fsdp.flags-sync",
     .area = "ddp",
     .kind = Kind::kChange,
     .at = At(1068),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1068",
     .reads = {K::dist_use_megatron_fsdp, K::use_megatron_fsdp},
     .change =
         [](Editor& e) {
           if (!Fsdp(e.facts())) return;
           e.Set(K::dist_use_megatron_fsdp, true);
           e.Set(K::use_megatron_fsdp, true);
         }},
    {.id = "fsdp1.distopt-on",
     .area = "distributed-optimizer",
     .kind = Kind::kChange,
     .at = At(1084),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1084",
     .bridge = {.since = 5},
     .reads = {K::use_megatron_fsdp, K::use_distributed_optimizer, K::optimizer_use_distributed_optimizer},
     .change =
         [](Editor& e) {
           if (!V1(e.facts())) return;
           e.Set(K::use_distributed_optimizer, true);
           e.Set(K::optimizer_use_distributed_optimizer, true);
         }},
    {.id = "fsdp1.decoupled-grad",
     .area = "distributed-optimizer",
     .kind = Kind::kChange,
     .at = At(1092),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1092",
     .bridge = {.since = 5},
     .reads = {K::use_precision_aware_optimizer, K::megatron_fsdp_use_decoupled_grad},
     .change =
         [](Editor& e) {
           const Facts& f = e.facts();
           if (V1(f) && f.on(K::use_precision_aware_optimizer)) e.Set(K::megatron_fsdp_use_decoupled_grad, true);
         }},
    {.id = "fsdp1.no-average-in-collective",
     .area = "ddp",
     .kind = Kind::kChange,
     .at = At(1096),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1096",
     .reads = {K::average_in_collective, K::disable_symmetric_registration},
     .change =
         [](Editor& e) {
           const Facts& f = e.facts();
           if (V1(f) && !f.on(K::disable_symmetric_registration) && f.on(K::average_in_collective)) {
             e.Set(K::average_in_collective, false);
           }
         }},
    {.id = "fsdp1.no-reuse-grad-buf",
     .area = "fp8",
     .kind = Kind::kChange,
     .at = At(1101),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1101",
     .reads = {K::reuse_grad_buf_for_mxfp8_param_ag, K::optimizer_reuse_grad_buf_for_mxfp8_param_ag},
     .change =
         [](Editor& e) {
           if (!V1(e.facts())) return;
           e.Set(K::reuse_grad_buf_for_mxfp8_param_ag, false);
           e.Set(K::optimizer_reuse_grad_buf_for_mxfp8_param_ag, false);
         }},
    {.id = "fsdp1.checkpoint-format",
     .area = "checkpoint",
     .at = At(1107),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1107",
     .reads = {K::use_megatron_fsdp, K::save, K::load, K::ckpt_format},
     .when = [](F f) { return V1(f) && (f.set(K::save) || f.set(K::load)) && !f.is(K::ckpt_format, "fsdp_dtensor"); },
     .needs = "Megatron-FSDP saves and loads checkpoints in its own format: checkpoint.ckpt_format=fsdp_dtensor",
     .fixes = {{{K::ckpt_format, "fsdp_dtensor"}},
               {{K::use_megatron_fsdp, false}, {K::dist_use_megatron_fsdp, false}}}},
    {.id = "fsdp1.cuda-max-connections",
     .area = "env",
     .at = At(1110),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1110",
     .bridge = {.since = 5},
     .reads = {K::use_megatron_fsdp},
     .reads_env = {"CUDA_DEVICE_MAX_CONNECTIONS"},
     .when = [](F f) { return V1(f) && f.var("CUDA_DEVICE_MAX_CONNECTIONS") == "1"; },
     .needs = "Megatron-FSDP needs more than one CUDA connection",
     .fix = [](F) { return std::vector<Patch>{{AssignVar("CUDA_DEVICE_MAX_CONNECTIONS", "8")}}; }},
    {.id = "fsdp1.manual-registration-on",
     .area = "ddp",
     .kind = Kind::kChange,
     .at = At(1115),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1115",
     .bridge = {.since = 5},
     .reads = {K::nccl_ub, K::fsdp_manual_registration},
     .change =
         [](Editor& e) {
           if (V1(e.facts()) && e.facts().on(K::nccl_ub)) e.Set(K::fsdp_manual_registration, true);
         }},
    {.id = "fsdp1.manual-registration-needs-ub",
     .area = "ddp",
     .at = At(1118),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1118",
     .bridge = {.since = 5},
     .reads = {K::nccl_ub, K::fsdp_manual_registration},
     .when = [](F f) { return V1(f) && !f.on(K::nccl_ub) && f.on(K::fsdp_manual_registration); },
     .needs = "manual registration belongs to NCCL user buffers",
     .fixes = {{{K::fsdp_manual_registration, false}}, {{K::nccl_ub, true}}}},
    {.id = "fsdp1.no-weight-hash-check",
     .area = "ddp",
     .at = At(1120),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1120",
     .bridge = {.since = 5},
     .reads = {K::data_parallel_sharding_strategy, K::check_weight_hash_across_dp_replicas_interval},
     .when =
         [](F f) {
           return V1(f) && f.is(K::data_parallel_sharding_strategy, "optim_grads_params") &&
                  f.set(K::check_weight_hash_across_dp_replicas_interval);
         },
     .needs = "sharded parameters have no replicas whose hashes could be compared",
     .fixes = {{{K::check_weight_hash_across_dp_replicas_interval, kUnset}}}},
    {.id = "fsdp1.no-tp-pp-dp-mapping",
     .area = "ddp",
     .at = At(1124),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1124",
     .reads = {K::use_megatron_fsdp, K::use_tp_pp_dp_mapping},
     .when = [](F f) { return V1(f) && f.on(K::use_tp_pp_dp_mapping); },
     .needs = "Megatron-FSDP keeps the default rank order",
     .fixes = {{{K::use_tp_pp_dp_mapping, false}}}},
    {.id = "fsdp2.bf16",
     .area = "ddp",
     .at = At(1135),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1135",
     .bridge = kNewest,
     .reads = {K::megatron_fsdp_version, K::bf16, K::fp16, K::optimizer_bf16, K::optimizer_fp16},
     .when =
         [](F f) {
           return V2(f) && (!f.on(K::bf16) || f.on(K::fp16) || !f.on(K::optimizer_bf16) || f.on(K::optimizer_fp16));
         },
     .needs = "Megatron-FSDP 2 trains in bf16: model and optimizer",
     .fixes = {{{K::bf16, true}, {K::fp16, false}, {K::optimizer_bf16, true}, {K::optimizer_fp16, false}}},
     .fix = UseV1},
    {.id = "fsdp2.params-dtype",
     .area = "ddp",
     .at = At(1137),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1137",
     .bridge = kNewest,
     .reads = {K::megatron_fsdp_version, K::params_dtype},
     .when = [](F f) { return V2(f) && !f.is(K::params_dtype, "bf16"); },
     .needs = "Megatron-FSDP 2 keeps parameters in bf16",
     .fixes = {{{K::params_dtype, "bf16"}}},
     .fix = UseV1},
    {.id = "fsdp2.dp-only",
     .area = "ddp",
     .at = At(1151),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1151",
     .bridge = kNewest,
     .reads = {K::megatron_fsdp_version, K::tensor_model_parallel_size, K::pipeline_model_parallel_size,
               K::context_parallel_size, K::expert_model_parallel_size},
     .when =
         [](F f) {
           return V2(f) && (f.num(K::tensor_model_parallel_size) != 1 || f.num(K::pipeline_model_parallel_size) != 1 ||
                            f.num(K::context_parallel_size) != 1 || f.num(K::expert_model_parallel_size) != 1);
         },
     .needs = "Megatron-FSDP 2 knows data parallelism only",
     .fix = UseV1},
    {.id = "fsdp2.no-moe",
     .area = "ddp",
     .at = At(1156),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1156",
     .bridge = kNewest,
     .reads = {K::megatron_fsdp_version, K::num_moe_experts},
     .when = [](F f) { return V2(f) && f.set(K::num_moe_experts); },
     .needs = "Megatron-FSDP 2 trains dense models only",
     .fix = UseV1},
    {.id = "fsdp2.no-vpp",
     .area = "ddp",
     .at = At(1158),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1158",
     .bridge = kNewest,
     .reads = {K::megatron_fsdp_version, K::virtual_pipeline_model_parallel_size},
     .when = [](F f) { return V2(f) && f.set(K::virtual_pipeline_model_parallel_size); },
     .needs = "Megatron-FSDP 2 holds one model chunk per rank",
     .fixes = {{{K::virtual_pipeline_model_parallel_size, kUnset}}},
     .fix = UseV1},
    {.id = "fsdp2.no-mapping",
     .area = "ddp",
     .at = At(1160),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1160",
     .bridge = kNewest,
     .reads = {K::megatron_fsdp_version, K::use_tp_pp_dp_mapping},
     .when = [](F f) { return V2(f) && f.on(K::use_tp_pp_dp_mapping); },
     .needs = "Megatron-FSDP 2 keeps the default rank order",
     .fixes = {{{K::use_tp_pp_dp_mapping, false}}}},
    {.id = "fsdp2.no-dp-random-init",
     .area = "ddp",
     .at = At(1162),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1162",
     .bridge = kNewest,
     .reads = {K::megatron_fsdp_version, K::data_parallel_random_init},
     .when = [](F f) { return V2(f) && f.on(K::data_parallel_random_init); },
     .needs = "Megatron-FSDP 2 starts all data-parallel ranks from the same weights",
     .fixes = {{{K::data_parallel_random_init, false}}}},
    {.id = "fsdp2.no-hsdp",
     .area = "ddp",
     .at = At(1164),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1164",
     .bridge = kNewest,
     .reads = {K::megatron_fsdp_version, K::num_distributed_optimizer_instances},
     .when = [](F f) { return V2(f) && f.num(K::num_distributed_optimizer_instances) != 1; },
     .needs = "Megatron-FSDP 2 has one distributed-optimizer instance",
     .fixes = {{{K::num_distributed_optimizer_instances, 1}}}},
    {.id = "fsdp2.no-outer-dp",
     .area = "ddp",
     .at = At(1166),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1166",
     .bridge = kNewest,
     .reads = {K::megatron_fsdp_version, K::outer_dp_sharding_strategy},
     .when = [](F f) { return V2(f) && !f.is(K::outer_dp_sharding_strategy, "no_shard"); },
     .needs = "Megatron-FSDP 2 has no outer data parallelism",
     .fixes = {{{K::outer_dp_sharding_strategy, "no_shard"}}}},
    {.id = "fsdp2.no-checkpoint",
     .area = "ddp",
     .at = At(1168),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1168",
     .bridge = kNewest,
     .reads = {K::megatron_fsdp_version, K::save, K::load, K::pretrained_checkpoint},
     .when = [](F f) { return V2(f) && (f.set(K::save) || f.set(K::load) || f.set(K::pretrained_checkpoint)); },
     .needs = "Megatron-FSDP 2 saves and loads no checkpoints yet",
     .fixes = {{{K::save, kUnset}, {K::load, kUnset}, {K::pretrained_checkpoint, kUnset}}},
     .fix = UseV1},
    {.id = "fsdp2.no-loss-scale",
     .area = "ddp",
     .at = At(1172),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1172",
     .bridge = kNewest,
     .reads = {K::megatron_fsdp_version, K::loss_scale},
     .when = [](F f) { return V2(f) && f.set(K::loss_scale); },
     .needs = "Megatron-FSDP 2 does not scale the loss",
     .fixes = {{{K::loss_scale, kUnset}}},
     .fix = UseV1},
    {.id = "fsdp2.no-clip-grad",
     .area = "ddp",
     .at = At(1174),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1174",
     .bridge = kNewest,
     .reads = {K::megatron_fsdp_version, K::clip_grad},
     .when = [](F f) { return V2(f) && f.real(K::clip_grad) > 0; },
     .needs = "Megatron-FSDP 2 does not clip gradients; the default of 1.0 counts too",
     .fixes = {{{K::clip_grad, 0}}},
     .fix = UseV1},
    {.id = "fsdp2.no-precision-aware",
     .area = "ddp",
     .at = At(1176),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1176",
     .bridge = kNewest,
     .reads = {K::megatron_fsdp_version, K::use_precision_aware_optimizer},
     .when = [](F f) { return V2(f) && f.on(K::use_precision_aware_optimizer); },
     .needs = "Megatron-FSDP 2 has no precision-aware optimizer",
     .fixes = {{{K::use_precision_aware_optimizer, false}}},
     .fix = UseV1},
    {.id = "fsdp2.no-cpu-offload",
     .area = "ddp",
     .at = At(1178),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1178",
     .bridge = kNewest,
     .reads = {K::megatron_fsdp_version, K::optimizer_cpu_offload},
     .when = [](F f) { return V2(f) && f.on(K::optimizer_cpu_offload); },
     .needs = "Megatron-FSDP 2 keeps the optimizer on the GPU",
     .fixes = {{{K::optimizer_cpu_offload, false}}},
     .fix = UseV1},
    {.id = "fsdp2.no-layer-wise",
     .area = "ddp",
     .at = At(1180),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1180",
     .bridge = kNewest,
     .reads = {K::megatron_fsdp_version, K::use_layer_wise_distributed_optimizer},
     .when = [](F f) { return V2(f) && f.on(K::use_layer_wise_distributed_optimizer); },
     .needs = "Megatron-FSDP 2 has no layer-wise distributed optimizer",
     .fixes = {{{K::use_layer_wise_distributed_optimizer, false}}}},
    {.id = "fsdp2.no-optimizer-graph",
     .area = "ddp",
     .at = At(1182),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1182",
     .bridge = kNewest,
     .reads = {K::megatron_fsdp_version, K::optimizer_cuda_graph},
     .when = [](F f) { return V2(f) && f.on(K::optimizer_cuda_graph); },
     .needs = "Megatron-FSDP 2 does not capture the optimizer",
     .fixes = {{{K::optimizer_cuda_graph, false}}}},
    {.id = "fsdp2.no-per-token-loss",
     .area = "ddp",
     .at = At(1184),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1184",
     .bridge = kNewest,
     .reads = {K::megatron_fsdp_version, K::calculate_per_token_loss},
     .when = [](F f) { return V2(f) && f.on(K::calculate_per_token_loss); },
     .needs = "Megatron-FSDP 2 averages the loss per microbatch",
     .fixes = {{{K::calculate_per_token_loss, false}}},
     .fix = UseV1},
    {.id = "fsdp2.no-fp8-fp4",
     .area = "ddp",
     .at = At(1186),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1186",
     .bridge = kNewest,
     .reads = {K::megatron_fsdp_version, K::fp8, K::fp4, K::fp8_param_gather, K::fp4_param_gather},
     .when =
         [](F f) {
           return V2(f) && (f.on(K::fp8) || f.on(K::fp4) || f.on(K::fp8_param_gather) || f.on(K::fp4_param_gather));
         },
     .needs = "Megatron-FSDP 2 has neither FP8 nor FP4",
     .fix = UseV1},
    {.id = "fsdp2.no-cuda-graph",
     .area = "ddp",
     .at = At(1188),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1188",
     .bridge = kNewest,
     .reads = {K::megatron_fsdp_version, K::cuda_graph_impl, K::megatron_fsdp_cuda_graph_mode},
     .when = [](F f) { return V2(f) && (!f.is(K::cuda_graph_impl, "none") || f.on(K::megatron_fsdp_cuda_graph_mode)); },
     .needs = "Megatron-FSDP 2 runs without CUDA graphs",
     .fixes = {{{K::cuda_graph_impl, "none"},
                {K::megatron_fsdp_cuda_graph_mode, false},
                {K::enable_cuda_graph, false},
                {K::external_cuda_graph, false}}}},
    {.id = "fsdp2.applied",
     .area = "ddp",
     .kind = Kind::kChange,
     .at = At(1190),
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1190",
     .bridge = kNewest,
     .reads = {K::megatron_fsdp_version},
     .change =
         [](Editor& e) {
           if (!V2(e.facts())) return;
           e.Set(K::data_parallel_sharding_strategy, "optim_grads_params");
           for (K off : {K::use_distributed_optimizer, K::optimizer_use_distributed_optimizer, K::overlap_grad_reduce,
                         K::overlap_param_gather, K::optimizer_overlap_param_gather,
                         K::overlap_param_gather_with_optimizer_step, K::gradient_accumulation_fusion,
                         K::fsdp_all_gather_in_start_param_sync}) {
             e.Set(off, false);
           }
         }},
};

}  // namespace

RuleList BridgeFsdpRules() { return kRules; }

}  // namespace flightplan
