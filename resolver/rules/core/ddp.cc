// DistributedDataParallelConfig.__post_init__: what the DDP config class checks and changes. Megatron-LM builds it from
// the command line, Bridge finalizes it before the model.
// Lines are those of NVIDIA/Megatron-LM@d98e8a64dd megatron/core/distributed/distributed_data_parallel_config.py.
#include "absl/strings/str_split.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

bool ExpandableSegments(F f) {
  for (absl::string_view part : absl::StrSplit(f.var("PYTORCH_CUDA_ALLOC_CONF"), ',')) {
    if (part == "expandable_segments:True") return true;
  }
  return false;
}

// PYTORCH_CUDA_ALLOC_CONF without the entry that NCCL user buffers cannot live with.
std::string WithoutExpandableSegments(F f) {
  std::string kept;
  for (absl::string_view part : absl::StrSplit(f.var("PYTORCH_CUDA_ALLOC_CONF"), ',', absl::SkipEmpty())) {
    if (part == "expandable_segments:True") continue;
    if (!kept.empty()) kept += ',';
    kept.append(part.data(), part.size());
  }
  return kept;
}

const Rule kRules[] = {
    {.id = "ddp.fsdp-version",
     .area = "ddp",
     .at = {Phase::kDdp, 257},
     .source = "Megatron-LM:megatron/core/distributed/distributed_data_parallel_config.py:257",
     .core = {.since = kMain},
     .reads = {K::megatron_fsdp_version},
     .when = [](F f) { return f.num(K::megatron_fsdp_version) != 1 && f.num(K::megatron_fsdp_version) != 2; },
     .needs = "megatron_fsdp_version is 1 or 2",
     .fixes = {{{K::megatron_fsdp_version, 1}}}},
    {.id = "ddp.reuse-grad-buf-needs-fp8-gather",
     .cli_id = "ddp.mxfp8-reuse-needs-fp8pg",
     .area = "ddp",
     .at = {Phase::kDdp, 260},
     .source = "Megatron-LM:megatron/core/distributed/distributed_data_parallel_config.py:260",
     .reads = {K::reuse_grad_buf_for_mxfp8_param_ag, K::fp8_param_gather},
     .when = [](F f) { return f.on(K::reuse_grad_buf_for_mxfp8_param_ag) && !f.on(K::fp8_param_gather); },
     .needs = "the gradient buffer can only be reused for parameters kept in MXFP8",
     .fixes = {{{K::fp8_param_gather, true}}, {{K::reuse_grad_buf_for_mxfp8_param_ag, false}}}},
    {.id = "ddp.nccl-ub-vs-expandable",
     .cli_id = "ddp.nccl-ub-expandable",
     .area = "version-gate",
     .at = {Phase::kDdp, 264},
     .source = "Megatron-LM:megatron/core/distributed/distributed_data_parallel_config.py:264",
     .reads = {K::nccl_ub},
     .reads_env = {"PYTORCH_CUDA_ALLOC_CONF", "torch"},
     .when =
         [](F f) {
           // Core 0.18 began to let torch 2.11 pass.
           const bool torch_is_fixed = f.core(18) && f.torch_at_least("2.11.0a0");
           return f.on(K::nccl_ub) && !torch_is_fixed && ExpandableSegments(f);
         },
     .needs = "NCCL user buffers do not work with expandable segments before torch 2.11",
     .fixes = {{{K::nccl_ub, false}}},
     .fix =
         [](F f) { return std::vector<Patch>{{AssignVar("PYTORCH_CUDA_ALLOC_CONF", WithoutExpandableSegments(f))}}; }},
    {.id = "ddp.fp32-accum-patterns",
     .cli_id = "ddp.fp32-patterns",
     .area = "ddp",
     .at = {Phase::kDdp, 270},
     .source = "Megatron-LM:megatron/core/distributed/distributed_data_parallel_config.py:270",
     .core = {.since = 17},
     .reads = {K::param_name_patterns_for_fp32_local_accumulation, K::grad_reduce_in_fp32},
     .when =
         [](F f) { return f.on(K::param_name_patterns_for_fp32_local_accumulation) && f.on(K::grad_reduce_in_fp32); },
     .needs = "patterns for local FP32 accumulation make sense only when gradients are not reduced in FP32 anyway",
     .fixes = {{{K::param_name_patterns_for_fp32_local_accumulation, Literal::List("")}},
               {{K::grad_reduce_in_fp32, false}}}},
    {.id = "ddp.num-buckets-vs-size",
     .cli_id = "ddp.buckets-xor",
     .area = "dp-overlap",
     .at = {Phase::kDdp, 276},
     .source = "Megatron-LM:megatron/core/distributed/distributed_data_parallel_config.py:276",
     .core = {.since = 18},
     .reads = {K::num_buckets, K::bucket_size},
     .when = [](F f) { return f.set(K::num_buckets) && f.set(K::bucket_size); },
     .needs = "num_buckets or bucket_size, not both (Bridge's comm overlap sets bucket_size when DP > 1)",
     .fixes = {{{K::num_buckets, kUnset}}}},
    {.id = "ddp.num-buckets-positive",
     .cli_id = "ddp.buckets-positive",
     .area = "dp-overlap",
     .at = {Phase::kDdp, 277},
     .source = "Megatron-LM:megatron/core/distributed/distributed_data_parallel_config.py:277",
     .core = {.since = 18},
     .reads = {K::num_buckets},
     .when = [](F f) { return f.set(K::num_buckets) && f.real(K::num_buckets) <= 0; },
     .needs = "num_buckets is greater than 0",
     .fixes = {{{K::num_buckets, kUnset}}}},
    {.id = "ddp.max-pool-double-buffer",
     .area = "ddp",
     .kind = Kind::kChange,
     .at = {Phase::kDdp, 281},
     .source = "Megatron-LM:megatron/core/distributed/distributed_data_parallel_config.py:281",
     .core = {.since = 19},
     .reads = {K::megatron_fsdp_max_pool_double_buffer, K::fsdp_double_buffer},
     .change =
         [](Editor& e) {
           if (e.facts().on(K::megatron_fsdp_max_pool_double_buffer)) e.Set(K::fsdp_double_buffer, true);
         }},
};

}  // namespace

RuleList CoreDdpRules() { return kRules; }

}  // namespace flightplan
