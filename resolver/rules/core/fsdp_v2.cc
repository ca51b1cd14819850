// What version 2 of Megatron-FSDP refuses when it wraps a model and its optimizer (NVIDIA/Megatron-LM@d98e8a64dd
// megatron/core/distributed/fsdp/mcore_fsdp_adapter.py). Megatron-Bridge asks before (bridge/fsdp.cc), a command line
// does not.
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

constexpr ReleaseRange kNewest = {.since = kMain};

bool V2(F f) { return f.on(K::use_megatron_fsdp) && f.num(K::megatron_fsdp_version) == 2; }
// Of what Bridge asks before.
bool Unasked(F f) { return V2(f) && !f.container(); }

constexpr StaticPatch kVersion1 = {{K::megatron_fsdp_version, 1}};

constexpr K kSizes[] = {K::tensor_model_parallel_size, K::pipeline_model_parallel_size, K::context_parallel_size};
bool CutsTheModel(F f) {
  for (const K size : kSizes) {
    if (f.num(size) > 1) return true;
  }
  return f.num(K::virtual_pipeline_model_parallel_size) > 1;
}

// What it does not have and a knob turns off.
constexpr K kSwitches[] = {K::gradient_accumulation_fusion,
                           K::calculate_per_token_loss,
                           K::fsdp_db_use_persist_buf_on_alloc_fail,
                           K::fsdp_manual_registration,
                           K::delay_wgrad_compute,
                           K::ddp_delay_wgrad_compute,
                           K::megatron_fsdp_use_decoupled_grad,
                           K::megatron_fsdp_enable_fine_grained_param_gather,
                           K::megatron_fsdp_max_pool_double_buffer,
                           K::data_parallel_random_init};
// Of these Bridge asks before.
bool Asked(F f, K knob) {
  return f.container() && (knob == K::calculate_per_token_loss || knob == K::data_parallel_random_init);
}
bool SwitchedOn(F f, K knob) { return f.on(knob) && !Asked(f, knob); }
constexpr K kCounts[] = {K::suggested_communication_unit_size, K::num_buckets, K::ddp_num_buckets};

bool SwitchedOn(F f) {
  for (const K knob : kSwitches) {
    if (SwitchedOn(f, knob)) return true;
  }
  for (const K knob : kCounts) {
    if (f.set(knob)) return true;
  }
  return false;
}
std::vector<Patch> SwitchOff(F f) {
  Patch patch;
  for (const K knob : kSwitches) {
    if (SwitchedOn(f, knob)) patch.push_back(Assign(knob, false));
  }
  // The command line turns this one on with user buffers.
  if (f.on(K::fsdp_manual_registration) && f.on(K::nccl_ub)) patch.push_back(Assign(K::nccl_ub, false));
  for (const K knob : kCounts) {
    if (f.set(knob)) patch.push_back(Assign(knob, Value()));
  }
  return {patch};
}
std::string SwitchesText(F f) {
  std::vector<absl::string_view> names;
  for (const K knob : kSwitches) {
    if (SwitchedOn(f, knob)) names.push_back(Name(knob));
  }
  for (const K knob : kCounts) {
    if (f.set(knob)) names.push_back(Name(knob));
  }
  return absl::StrJoin(names, ", ");
}

bool LowPrecision(F f) {
  return f.on(K::fp8) || f.on(K::fp4) || f.on(K::fp8_param_gather) || f.on(K::fp4_param_gather);
}

const Rule kRules[] = {
    {.id = "build.mfsdp-v2-whole-models",
     .area = "fsdp",
     .at = {Phase::kBuild, 10633},
     .source = "Megatron-LM:megatron/core/distributed/fsdp/mcore_fsdp_adapter.py:632",
     .core = kNewest,
     .reads = {K::megatron_fsdp_version, K::tensor_model_parallel_size, K::pipeline_model_parallel_size,
               K::context_parallel_size, K::virtual_pipeline_model_parallel_size},
     .when = [](F f) { return Unasked(f) && CutsTheModel(f); },
     .needs = "Megatron-FSDP 2 knows data and expert parallelism only",
     .fixes = {kVersion1}},
    {.id = "build.mfsdp-v2-shards-all",
     .area = "fsdp",
     .at = {Phase::kBuild, 10667},
     .source = "Megatron-LM:megatron/core/distributed/fsdp/mcore_fsdp_adapter.py:666",
     .core = kNewest,
     .reads = {K::megatron_fsdp_version, K::data_parallel_sharding_strategy, K::outer_dp_sharding_strategy},
     .when =
         [](F f) {
           return Unasked(f) && (!f.is(K::data_parallel_sharding_strategy, "optim_grads_params") ||
                                 !f.is(K::outer_dp_sharding_strategy, "no_shard"));
         },
     .needs = "Megatron-FSDP 2 shards parameters, gradients and optimizer over one group of ranks",
     .fixes = {{{K::data_parallel_sharding_strategy, "optim_grads_params"},
                {K::outer_dp_sharding_strategy, "no_shard"}}}},
    {.id = "build.mfsdp-v2-switches",
     .area = "fsdp",
     .at = {Phase::kBuild, 10673},
     .source = "Megatron-LM:megatron/core/distributed/fsdp/mcore_fsdp_adapter.py:672",
     .core = kNewest,
     .reads = {K::megatron_fsdp_version, K::gradient_accumulation_fusion, K::calculate_per_token_loss,
               K::delay_wgrad_compute, K::fsdp_manual_registration, K::megatron_fsdp_use_decoupled_grad,
               K::data_parallel_random_init},
     .when = [](F f) { return V2(f) && SwitchedOn(f); },
     .needs =
         "Megatron-FSDP 2 has none of fused gradient accumulation, loss per token, delayed weight gradients, manual "
         "registration, buckets and version 1's buffers",
     .fixes = {kVersion1},
     .fix = SwitchOff,
     .detail = SwitchesText},
    {.id = "build.mfsdp-v2-no-fp8",
     .area = "fsdp",
     .at = {Phase::kBuild, 10677},
     .source = "Megatron-LM:megatron/core/distributed/fsdp/mcore_fsdp_adapter.py:676",
     .core = kNewest,
     .reads = {K::megatron_fsdp_version, K::fp8, K::fp4, K::fp8_param_gather, K::fp4_param_gather},
     .when = [](F f) { return Unasked(f) && LowPrecision(f); },
     .needs = "Megatron-FSDP 2 has neither FP8 nor FP4",
     .fixes = {kVersion1}},
    {.id = "build.mfsdp-v2-no-graphs",
     .area = "fsdp",
     .at = {Phase::kBuild, 10679},
     .source = "Megatron-LM:megatron/core/distributed/fsdp/mcore_fsdp_adapter.py:678",
     .core = kNewest,
     .reads = {K::megatron_fsdp_version, K::cuda_graph_impl, K::megatron_fsdp_cuda_graph_mode},
     .when =
         [](F f) {
           return Unasked(f) && (!f.is(K::cuda_graph_impl, "none") || f.on(K::megatron_fsdp_cuda_graph_mode));
         },
     .needs = "Megatron-FSDP 2 runs without CUDA graphs",
     .fixes = {{{K::cuda_graph_impl, "none"},
                {K::megatron_fsdp_cuda_graph_mode, false},
                {K::enable_cuda_graph, false},
                {K::external_cuda_graph, false}}}},
    {.id = "build.mfsdp-v2-symmetric",
     .area = "fsdp",
     .at = {Phase::kBuild, 10687},
     .source = "Megatron-LM:megatron/core/distributed/fsdp/mcore_fsdp_adapter.py:686",
     .core = kNewest,
     .reads = {K::megatron_fsdp_version, K::nccl_ub, K::disable_symmetric_registration},
     .when = [](F f) { return V2(f) && f.on(K::nccl_ub) && f.on(K::disable_symmetric_registration); },
     .needs = "Megatron-FSDP 2 registers user buffers symmetrically",
     .fixes = {{{K::disable_symmetric_registration, false}}}},
    {.id = "build.mfsdp-v2-no-loss-scale",
     .area = "fsdp",
     .at = {Phase::kBuild, 10771},
     .source = "Megatron-LM:megatron/core/optimizer/fully_sharded_optimizer.py:70",
     .core = kNewest,
     .reads = {K::megatron_fsdp_version, K::loss_scale, K::fp16},
     .when = [](F f) { return Unasked(f) && (f.set(K::loss_scale) || f.on(K::fp16)); },
     .needs = "Megatron-FSDP 2 does not scale the loss, so it trains in bf16 or fp32",
     .fixes = {kVersion1}},
    {.id = "build.mfsdp-v2-plain-optimizer",
     .area = "fsdp",
     .at = {Phase::kBuild, 10778},
     .source = "Megatron-LM:megatron/core/optimizer/fully_sharded_optimizer.py:77",
     .core = kNewest,
     .reads = {K::megatron_fsdp_version, K::overlap_param_gather_with_optimizer_step, K::optimizer_cpu_offload,
               K::use_layer_wise_distributed_optimizer},
     .when =
         [](F f) {
           return Unasked(f) && (f.on(K::overlap_param_gather_with_optimizer_step) || f.on(K::optimizer_cpu_offload) ||
                                 f.on(K::use_layer_wise_distributed_optimizer));
         },
     .needs = "Megatron-FSDP 2 keeps the optimizer on the GPU, in one piece and without an overlapped gather",
     .fixes = {{{K::overlap_param_gather_with_optimizer_step, false},
                {K::optimizer_cpu_offload, false},
                {K::use_layer_wise_distributed_optimizer, false}}}},
};

}  // namespace

RuleList CoreFsdpV2Rules() { return kRules; }

}  // namespace flightplan
