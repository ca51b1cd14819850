// What users found broken, and no check of the stacks says: library versions that do not go together, combinations that
// fail in the first steps, overlaps that silently do nothing. Each names the threads it comes from, and holds for the
// versions that were reported and no others. Area "field-report", so that nobody takes one for an upstream check.
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "resolver/rules/core/graph_util.h"
#include "resolver/rules/flex_dispatcher.h"
#include "resolver/rules/nvshmem.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

constexpr absl::string_view kConnections = "CUDA_DEVICE_MAX_CONNECTIONS";

// All experts of a rank stay without a token only where they are few: the report has one.
bool FewExperts(F f) { return f.num(K::num_moe_experts) <= 2 * f.size(K::expert_model_parallel_size); }
// MXFP8 parameters travel through the gradient buffer.
bool Mxfp8InGradientBuffer(F f) {
  return f.on(K::fp8) && f.is(K::fp8_recipe, "mxfp8") && f.on(K::fp8_param_gather) &&
         f.on(K::reuse_grad_buf_for_mxfp8_param_ag);
}
bool OneConnection(F f) { return f.var(kConnections) == "1"; }

absl::string_view PackageText(F f, absl::string_view name) {
  const auto it = f.env().packages.find(name);
  return it == f.env().packages.end() ? absl::string_view() : absl::string_view(it->second);
}
std::optional<Version> PackageVersion(F f, absl::string_view name) {
  const absl::string_view text = PackageText(f, name);
  return text.empty() ? std::nullopt : Version::Parse(std::string(text));
}

// The expert group is known to stay in one node, where DeepEP uses NVLink alone and NVSHMEM is not asked.
bool ExpertsInOneNode(F f) { return f.env().gpus_per_node > 0 && DispatchRanks(f) <= f.env().gpus_per_node; }

// Boards of eight Blackwell GPUs; racks have one NVLink domain for many nodes.
bool BlackwellNode(F f) {
  return f.env().cc_major == 10 && f.env().nvlink_domain_gpus > 0 && f.env().nvlink_domain_gpus <= 8;
}

bool DomainIsLeft(F f) { return DispatchRanks(f) > f.env().nvlink_domain_gpus; }

// Attention inside per-layer graphs: named, or all of a layer because nothing is.
bool AttentionInGraph(F f) {
  if (!f.is(K::cuda_graph_impl, "transformer_engine")) return false;
  const auto names = [&](K list) { return f.has(list, "attn") || f.is(list, "attn"); };
  if (names(K::cuda_graph_modules) || names(K::cuda_graph_scope)) return true;
  return !f.on(K::cuda_graph_modules) && !f.on(K::cuda_graph_scope);
}

bool WholeIterationGraph(F f) {
  if (f.is(K::cuda_graph_impl, "full_iteration")) return true;
  const bool scope = f.has(K::cuda_graph_scope, "full_iteration") || f.is(K::cuda_graph_scope, "full_iteration");
  return f.is(K::cuda_graph_impl, "local") && scope;
}

// DeepEP's manager asks for the sum of what arrived whatever the capacity; HybridEP and NCCL EP wait for it where no
// capacity has fixed their buffers (Megatron-LM@d98e8a64dd token_dispatcher.py:1450, :1111, :1539).
bool CountsOnHost(F f) {
  if (f.is(K::moe_token_dispatcher_type, "alltoall")) return !FixedExpertShapes(f);
  return FlexWith(f, "deepep") || ((FlexWith(f, "hybridep") || FlexWith(f, "ncclep")) && !FixedExpertShapes(f));
}

bool DataParallelOverlap(F f) { return f.on(K::overlap_grad_reduce) || f.on(K::overlap_param_gather); }

const Rule kRules[] = {
    {.id = "field.deepep-nvshmem-hang",
     .area = "field-report",
     .at = {Phase::kHardware, 200},
     .source = "deepseek-ai/DeepEP#707, #553; fixed by #564 in builds of DeepEP 1 alone",
     .reads = {K::moe_flex_dispatcher_backend, K::expert_model_parallel_size},
     .reads_env = {"deep_ep", "nvshmem"},
     .when =
         [](F f) {
           return FlexWith(f, "deepep") && !PackageText(f, "deep_ep").empty() && !ExpertsInOneNode(f) &&
                  !KnowsNewQueuePairs(PackageText(f, "deep_ep")) && AtLeast(PackageVersion(f, "nvshmem"), "3.5.19");
         },
     .needs = "DeepEP between nodes hangs with NVSHMEM 3.5.19 and later; use an older NVSHMEM or another dispatcher",
     .fixes = {{{K::moe_token_dispatcher_type, "alltoall"}}}},
    {.id = "field.triton-permute-fusion",
     .area = "field-report",
     .at = {Phase::kHardware, 201},
     .source = "NVIDIA/TransformerEngine#2579; fixed by #2286 in 2.10",
     .reads = {K::moe_permute_fusion},
     .reads_env = {"triton", "te"},
     .when =
         [](F f) {
           return f.moe() && f.on(K::moe_permute_fusion) && f.env().te_stated && f.env().te.has_value() &&
                  !AtLeast(f.env().te, "2.10") && AtLeast(PackageVersion(f, "triton"), "3.5");
         },
     .needs = "Transformer Engine before 2.10 cannot compile its fused permutation with Triton 3.5 and later",
     .fixes = {{{K::moe_permute_fusion, false}}}},
    {.id = "field.blockwise-fp8-tp",
     .area = "field-report",
     .at = {Phase::kHardware, 202},
     .source = "NVIDIA/Megatron-LM#1863 (TE 2.9), NVIDIA/TransformerEngine#2393 (TE 2.8)",
     .reads = {K::fp8_recipe, K::tensor_model_parallel_size, K::moe_token_dispatcher_type},
     .reads_env = {"te"},
     .when =
         [](F f) {
           return f.moe() && f.on(K::fp8) && f.is(K::fp8_recipe, "blockwise") &&
                  f.size(K::tensor_model_parallel_size) > 1 && f.is(K::moe_token_dispatcher_type, "alltoall") &&
                  f.env().te_stated && AtLeast(f.env().te, "2.8") && !AtLeast(f.env().te, "2.10");
         },
     .needs =
         "Transformer Engine 2.8 and 2.9 stop in a GEMM (layout) when blockwise FP8 meets tensor parallelism and the "
         "alltoall dispatcher",
     .fixes = {{{K::tensor_model_parallel_size, 1}, {K::sequence_parallel, false}}, {{K::fp8_recipe, "tensorwise"}}}},
    {.id = "field.fp4-gather-graph-pool",
     .area = "field-report",
     .kind = Kind::kWarning,
     .at = {Phase::kHardware, 203},
     .source = "NVIDIA-NeMo/Megatron-Bridge#3500; fixed by NVIDIA/Megatron-LM#4358 in 0.18",
     .core = {.until = 17},
     .reads = {K::fp4_param_gather, K::fp4, K::cuda_graph_impl},
     .when =
         [](F f) {
           return f.on(K::fp4) && (f.on(K::fp4_param_gather) || f.on(K::fp4_param)) &&
                  !f.is(K::cuda_graph_impl, "none") && f.set(K::cuda_graph_impl);
         },
     .needs = "before Megatron-Core 0.18 gathered FP4 parameters stay pinned in the graphs' private pools: tens of GiB",
     .fixes = {{{K::fp4_param_gather, false}, {K::fp4_param, false}}, {{K::cuda_graph_impl, "none"}}}},
    {.id = "field.hybridep-no-graphs",
     .area = "field-report",
     .kind = Kind::kWarning,
     .at = {Phase::kHardware, 204},
     .source = "NVIDIA-NeMo/Megatron-Bridge#2012 (January 2026)",
     .core = {.until = 16},
     .reads = {K::moe_flex_dispatcher_backend, K::cuda_graph_impl},
     .reads_env = {"gpu"},
     .when =
         [](F f) {
           return FlexWith(f, "hybridep") && (f.none(K::cuda_graph_impl) || f.is(K::cuda_graph_impl, "none")) &&
                  absl::StrContains(f.env().gpu_name, "GB200");
         },
     .needs = "HybridEP of that time runs into its all-gather timeout on GB200 unless CUDA graphs are on",
     .fix = [](F) { return std::vector<Patch>{ToAllToAll()}; }},
    {.id = "field.hybridep-domain-unset",
     .area = "field-report",
     .kind = Kind::kWarning,
     .at = {Phase::kHardware, 205},
     .source = "deepseek-ai/DeepEP#596, #597",
     .reads = {K::moe_flex_dispatcher_backend, K::expert_model_parallel_size},
     .reads_env = {kHybridepDomainVar},
     .when =
         [](F f) {
           // Bridge's recipes set the variable by themselves.
           return !f.container() && FlexWith(f, "hybridep") && !f.var_set(kHybridepDomainVar) && RackScale(f);
         },
     .needs =
         "where the NVLink domain is larger than a node, HybridEP may count it otherwise than you do and then hangs "
         "or goes over the network: say it",
     .fix = [](F f) { return std::vector<Patch>{{AssignVar(kHybridepDomainVar, absl::StrCat(RanksPerDomain(f)))}}; }},
    {.id = "field.alltoall-empty-rank",
     .area = "field-report",
     .kind = Kind::kWarning,
     .at = {Phase::kAdvice, 200},
     .source = "NVIDIA/Megatron-LM#1877",
     .reads = {K::moe_token_dispatcher_type, K::tensor_model_parallel_size, K::expert_tensor_parallel_size,
               K::expert_model_parallel_size, K::num_moe_experts},
     .when =
         [](F f) {
           return f.moe() && f.is(K::moe_token_dispatcher_type, "alltoall") &&
                  f.size(K::tensor_model_parallel_size) > 1 && f.size(K::expert_tensor_parallel_size) == 1 &&
                  f.size(K::expert_model_parallel_size) > 1 && FewExperts(f) &&
                  !f.on(K::moe_pad_expert_input_to_capacity);
         },
     .needs =
         "a rank that no token is routed to stops this dispatcher (reshape of an empty buffer); seen with one expert a "
         "rank and collapsed routing in the first steps, and tensor parallelism makes it likelier",
     .fixes = {{{K::tensor_model_parallel_size, 1}, {K::sequence_parallel, false}},
               {{K::moe_token_dispatcher_type, "flex"}, {K::moe_flex_dispatcher_backend, "deepep"}}}},
    {.id = "field.dp-overlap-one-connection",
     .area = "field-report",
     .kind = Kind::kWarning,
     .at = {Phase::kAdvice, 201},
     .source = "NVIDIA/Megatron-LM#1468, #827",
     .reads = {K::overlap_grad_reduce, K::overlap_param_gather, K::tensor_model_parallel_size,
               K::context_parallel_size},
     .reads_env = {kConnections},
     .when =
         [](F f) {
           return DataParallelOverlap(f) && OneConnection(f) && f.size(K::tensor_model_parallel_size) == 1 &&
                  f.size(K::context_parallel_size) == 1 && !f.on(K::overlap_moe_expert_parallel_comm);
         },
     .needs =
         "one connection puts communication behind the kernels, so nothing overlaps, where the forecast here counts "
         "what would; only tensor or context parallelism needs it",
     .fixes = {{{.value = "8", .env_var = kConnections}}}},
    {.id = "field.ep-overlap-one-connection",
     .area = "field-report",
     .kind = Kind::kWarning,
     .at = {Phase::kAdvice, 202},
     .source = "NVIDIA/Megatron-LM#6311 (64 H100, EP 16), #2180, #2719",
     .reads = {K::overlap_moe_expert_parallel_comm},
     .reads_env = {kConnections},
     .when = [](F f) { return f.on(K::overlap_moe_expert_parallel_comm) && OneConnection(f); },
     .needs =
         "with one connection the all-to-all waits for the kernels before it: the overlap was measured to gain 3.7 % "
         "so and 7.8 % with 32, which is what the forecast here counts",
     .fixes = {{{.value = "32", .env_var = kConnections}}}},
    {.id = "field.deepep-between-blackwell-nodes",
     .area = "field-report",
     .kind = Kind::kWarning,
     .at = {Phase::kHardware, 206},
     .source = "NVIDIA-NeMo/Megatron-Bridge#5067 (256 B200 and B300, EP 16), #3704 (64 B200); deepseek-ai/DeepEP#707: "
               "NVSHMEM 3.5.19 and later, which Megatron-Bridge's images have since 0.5",
     .reads = {K::moe_flex_dispatcher_backend, K::expert_model_parallel_size, K::expert_tensor_parallel_size},
     .reads_env = {"gpu", "nvshmem"},
     .when =
         [](F f) {
           return FlexWith(f, "deepep") && BlackwellNode(f) && DomainIsLeft(f) &&
                  DeepepHangsBetweenNodes(f.env()).value_or(true);
         },
     .needs = "between nodes of B200 or B300 DeepEP's dispatch ends in a timeout at the first step where NVSHMEM is "
              "3.5.19 or newer: install 3.4.5, keep the experts inside a node, or use alltoall",
     .fixes = {{{K::moe_token_dispatcher_type, "alltoall"}}}},
    {.id = "field.hybridep-between-blackwell-nodes",
     .area = "field-report",
     .kind = Kind::kWarning,
     .at = {Phase::kHardware, 207},
     .source = "NVIDIA-NeMo/Megatron-Bridge#2883, deepseek-ai/DeepEP#590 (16 B300), NVIDIA-NeMo/RL#3436",
     .reads = {K::moe_flex_dispatcher_backend, K::expert_model_parallel_size, K::expert_tensor_parallel_size},
     .reads_env = {"gpu"},
     .when = [](F f) { return FlexWith(f, "hybridep") && BlackwellNode(f) && DomainIsLeft(f); },
     .needs = "between nodes of B200 or B300 HybridEP is slow (a third of the link was measured), and it needs a build "
              "with HYBRID_EP_MULTINODE=1: keep the experts inside a node, or use alltoall",
     .fixes = {{{K::moe_token_dispatcher_type, "alltoall"}}}},
    {.id = "field.mxfp8-gather-without-overlap",
     .area = "field-report",
     .kind = Kind::kWarning,
     .spoils = true,
     .at = {Phase::kHardware, 208},
     .source = "NVIDIA/Megatron-LM#2272; fixed by #4800 (core_v0.18.0; #4769 is the same on the dev branch)",
     .core = {.until = 17},
     .reads = {K::fp8, K::fp8_recipe, K::fp8_param_gather, K::reuse_grad_buf_for_mxfp8_param_ag, K::overlap_grad_reduce,
               K::overlap_param_gather},
     .when =
         [](F f) {
           return Mxfp8InGradientBuffer(f) && !(f.on(K::overlap_grad_reduce) && f.on(K::overlap_param_gather));
         },
     .needs =
         "before Megatron-Core 0.18 MXFP8 parameters in the gradient buffer become NaN within the first steps unless "
         "gradients and parameters travel beside the compute",
     .fixes = {{{K::overlap_grad_reduce, true}, {K::overlap_param_gather, true}},
               {{K::reuse_grad_buf_for_mxfp8_param_ag, false}, {K::fp8_param_gather, false}}}},
    {.id = "field.mxfp8-gather-with-optimizer-step",
     .area = "field-report",
     .kind = Kind::kWarning,
     .spoils = true,
     .at = {Phase::kHardware, 209},
     .source = "NVIDIA-NeMo/Megatron-Bridge#1771 (Llama-3 70B and DeepSeek-V3 on GB200; also in Megatron-LM), #2014; "
               "core 0.19 refuses it (opt.reuse-grad-buf-vs-step-overlap)",
     .core = {.until = 18},
     .reads = {K::fp8, K::fp8_recipe, K::fp8_param_gather, K::reuse_grad_buf_for_mxfp8_param_ag,
               K::overlap_param_gather_with_optimizer_step},
     .when = [](F f) { return Mxfp8InGradientBuffer(f) && f.on(K::overlap_param_gather_with_optimizer_step); },
     .needs = "MXFP8 parameters that are gathered beside the optimizer step make the gradient norm NaN; beside the "
              "forward pass (overlap_param_gather) they do not",
     .fixes = {{{K::overlap_param_gather_with_optimizer_step, false}}}},
    {.id = "field.mxfp8-gather-before-save",
     .area = "field-report",
     .kind = Kind::kWarning,
     .spoils = true,
     .at = {Phase::kHardware, 210},
     .source = "NVIDIA/Megatron-LM#5236 (in core_v0.19.0); core_v0.18.2 megatron/training/training.py:2788 and "
               "megatron/core/distributed/param_and_grad_buffer.py: start_param_sync",
     .core = {.since = 18, .until = 18},
     .reads = {K::fp8, K::fp8_recipe, K::fp8_param_gather, K::reuse_grad_buf_for_mxfp8_param_ag,
               K::overlap_param_gather, K::save},
     .when = [](F f) { return Mxfp8InGradientBuffer(f) && f.on(K::overlap_param_gather) && f.on(K::save); },
     .needs = "core 0.18 gathers the parameters once more before a checkpoint, from a buffer that holds gradients by "
              "then: the saved weights may be stale or zeroes (0.19 stages them first)",
     .fixes = {{{K::reuse_grad_buf_for_mxfp8_param_ag, false}, {K::fp8_param_gather, false}}}},
    {.id = "field.graphed-attention-ep-overlap",
     .area = "field-report",
     .kind = Kind::kWarning,
     .spoils = true,
     .at = {Phase::kAdvice, 203},
     .source = "NVIDIA/Megatron-LM#5966 (0.19, TE 2.16, Qwen3-235B in BF16; open)",
     .core = {.since = 19},
     .reads = {K::overlap_moe_expert_parallel_comm, K::cuda_graph_impl, K::cuda_graph_modules, K::cuda_graph_scope,
               K::fp8, K::fp4},
     .when =
         [](F f) {
           return f.on(K::overlap_moe_expert_parallel_comm) && AttentionInGraph(f) && !f.on(K::fp8) && !f.on(K::fp4);
         },
     .needs = "with attention in Transformer Engine's graphs beside EP overlap, gradients of a long run grew by orders "
              "of magnitude after 80 steps and became NaN; without the graphs they did not",
     .fixes = {{{K::cuda_graph_impl, "none"}, {K::cuda_graph_modules, Literal::List("")}}}},
    {.id = "field.shared-overlap-without-shared-experts",
     .area = "field-report",
     .kind = Kind::kWarning,
     .at = {Phase::kAdvice, 204},
     .source = "Megatron-LM@d98e8a64dd megatron/core/transformer/transformer_config.py:720: only effective with a size",
     .reads = {K::moe_shared_expert_overlap, K::moe_shared_expert_intermediate_size},
     .when =
         [](F f) {
           return f.moe() && f.on(K::moe_shared_expert_overlap) && !f.on(K::moe_shared_expert_intermediate_size);
         },
     .needs = "without shared experts there is nothing to overlap, and the switch still excludes EP overlap: set "
              "moe_shared_expert_intermediate_size or leave the switch out",
     .fixes = {{{K::moe_shared_expert_overlap, false}}}},
    {.id = "field.backend-without-flex",
     .area = "field-report",
     .kind = Kind::kWarning,
     .at = {Phase::kAdvice, 205},
     .source = "NVIDIA-NeMo/Megatron-Bridge#609; Megatron-LM@d98e8a64dd "
               "megatron/core/transformer/moe/moe_layer.py: built by moe_token_dispatcher_type alone",
     .reads = {K::moe_flex_dispatcher_backend, K::moe_token_dispatcher_type},
     .when =
         [](F f) {
           // Bridge says so by itself.
           return !f.container() && f.moe() && f.given(K::moe_flex_dispatcher_backend) &&
                  f.set(K::moe_flex_dispatcher_backend) && !Flex(f);
         },
     .needs =
         "the backend alone does nothing: the dispatcher is built by moe_token_dispatcher_type, which must be flex",
     .fixes = {{{K::moe_token_dispatcher_type, "flex"}}, {{K::moe_flex_dispatcher_backend, kUnset}}}},
    {.id = "field.whole-iteration-graph-dropless",
     .area = "field-report",
     .kind = Kind::kWarning,
     .at = {Phase::kAdvice, 206},
     .source = "NVIDIA/Megatron-LM#1598",
     .reads = {K::cuda_graph_impl, K::cuda_graph_scope, K::moe_token_dispatcher_type, K::moe_flex_dispatcher_backend,
               K::moe_pad_expert_input_to_capacity, K::moe_expert_rank_capacity_factor},
     .when = [](F f) { return f.moe() && WholeIterationGraph(f) && CountsOnHost(f); },
     .needs = "this dispatcher copies token counts to the host in every layer, which a captured iteration cannot: "
              "capture attention, router and preprocessing alone, or take alltoall with experts padded to a capacity "
              "(moe_pad_expert_input_to_capacity) or hybridep with buffers of one (moe_expert_rank_capacity_factor)",
     .fixes = {{{K::cuda_graph_impl, "none"}},
               {{K::cuda_graph_impl, "transformer_engine"},
                {K::cuda_graph_modules, Literal::List("attn,moe_router,moe_preprocess")}}}},
    {.id = "field.forced-balance-on-data",
     .area = "field-report",
     .kind = Kind::kWarning,
     .spoils = true,
     .at = {Phase::kAdvice, 207},
     .source = "Megatron-LM@d98e8a64dd megatron/core/transformer/moe/router.py:861: random logits, for benchmarks",
     .reads = {K::moe_router_force_load_balancing, K::data_path, K::mock_data},
     .when =
         [](F f) {
           return f.moe() && f.on(K::moe_router_force_load_balancing) && f.on(K::data_path) && !f.on(K::mock_data);
         },
     .needs =
         "tokens go to experts by random numbers, so the router learns nothing from this data: for benchmarks alone",
     .fixes = {{{K::moe_router_force_load_balancing, false}}}},
    {.id = "field.tp-overlap-with-flex",
     .area = "field-report",
     .kind = Kind::kWarning,
     .at = {Phase::kAdvice, 208},
     .source = "NVIDIA-NeMo/Megatron-Bridge skills/perf-comm-overlap: launch tuning of TP overlap conflicts with "
               "DeepEP's and HybridEP's",
     .reads = {K::tp_comm_overlap, K::tensor_model_parallel_size, K::moe_flex_dispatcher_backend},
     .when =
         [](F f) {
           return f.on(K::tp_comm_overlap) && f.size(K::tensor_model_parallel_size) > 1 &&
                  (FlexWith(f, "deepep") || FlexWith(f, "hybridep"));
         },
     .needs =
         "the user buffers of TP overlap and the dispatcher's kernels compete for SMs, and each wants its own number "
         "of device connections: one of the two",
     .fixes = {{{K::tp_comm_overlap, false}}}},
    {.id = "field.fsdp-optimizer-offload",
     .area = "field-report",
     .at = {Phase::kHardware, 230},
     .source = "NVIDIA/Megatron-LM#1986; Megatron-LM@d98e8a64dd "
               "megatron/core/optimizer/cpu_offloading/hybrid_optimizer.py:274; #4623 is to mend it",
     .reads = {K::optimizer_cpu_offload, K::optimizer_offload_fraction, K::use_megatron_fsdp, K::use_torch_fsdp2,
               K::megatron_fsdp_version},
     .when =
         [](F f) {
           const bool sharded =
               f.on(K::use_torch_fsdp2) || (f.on(K::use_megatron_fsdp) && f.num(K::megatron_fsdp_version) != 2);
           return sharded && f.on(K::optimizer_cpu_offload) && f.real(K::optimizer_offload_fraction) > 0;
         },
     .needs = "optimizer_cpu_offload pins a copy of each parameter, which PyTorch cannot do with a shard of FSDP's "
              "(DTensor): the launch stops where it makes its optimizer",
     .fixes = {{{K::optimizer_cpu_offload, false}}}},
};

}  // namespace

RuleList CoreFieldReportsRules() { return kRules; }

}  // namespace flightplan
