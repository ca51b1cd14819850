// Environment variables that go with the decided configuration.
#include <algorithm>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "resolver/plan/cpu_binding.h"
#include "resolver/plan/stack.h"
#include "resolver/rules/decide/deliberation.h"
#include "resolver/rules/decide/evidence.h"
#include "resolver/rules/decide/rows.h"
#include "resolver/rules/flex_dispatcher.h"

namespace flightplan::decide {
namespace {

using K = Knob;

bool OverlapsExperts(D d) { return d.on(K::overlap_moe_expert_parallel_comm); }
bool Exchanges(D d) { return d.f.moe && d.f.ep > 1; }
bool WholeIteration(D d) { return d.is(K::cuda_graph_impl, "full_iteration"); }
bool UserBuffers(D d) { return d.on(K::nccl_ub); }
bool MayExpand(D d) { return SegmentsMayExpand(d.config(), d.intent.env); }
// A rollout engine on the same GPUs would get the variable too and stop on it.
bool Expandable(D d) { return MayExpand(d) && !d.stack.exports_to_engine; }
bool Deterministic(D d) { return d.on(K::deterministic_mode); }
bool FullIterationGraphs(D d) { return d.full_iteration_graphs; }
// Gated experts that the op fuser fuses; core 0.19 builds no model without the variable.
bool FusesExperts(D d) {
  return d.full_iteration_graphs || (d.f.moe && d.on(K::use_transformer_engine_op_fuser) && d.on(K::moe_grouped_gemm));
}
// The NIC of a Grace host reaches GPU memory over C2C.
bool NicOverC2c(D d) {
  return d.f.rack_scale && absl::StrContains(d.intent.gpu.host_link, "C2C") && d.intent.gpu.cc_minor == 0;
}

constexpr Row kConnections[] = {
    {.when = [](D d) { return d.f.fsdp; },
     .value = "8",
     .why = "FSDP refuses 1; its gathers need queues of their own",
     .basis = Basis::kRecipes,
     .cites = {evidence::kConnectionsRecipes}},
    {.when = [](D d) { return d.f.blackwell; },
     .value = "32",
     .why = "Blackwell orders kernels without the single queue, so every stream gets one",
     .basis = Basis::kRecipes,
     .cites = {evidence::kConnectionsRecipes}},
    {.when = [](D d) { return OverlapsExperts(d) && d.f.tp > 1; },
     .value = "32",
     .why = "EP overlap needs queues of its own: 198.5 TFLOP/s/GPU at 32 against 191.1 at 1, even with TP",
     .basis = Basis::kMeasured,
     .cites = {evidence::kConnectionsMeasured}},
    {.when = OverlapsExperts,
     .value = "32",
     .why = "EP overlap needs queues of its own",
     .basis = Basis::kMeasured,
     .cites = {evidence::kConnectionsMeasured}},
    {.when = [](D d) { return d.f.tp > 1 || d.f.cp > 1; },
     .value = "1",
     .why = "on Hopper and before, TP and CP rely on one queue to start communication before the GEMMs",
     .cites = {evidence::kConnectionsRequired}},
    {.when = Flex,
     .value = "32",
     .why = "the flex dispatcher's streams get queues of their own",
     .basis = Basis::kRecipes,
     .cites = {evidence::kConnectionsRecipes}},
    {.value = "8",
     .why = "no TP, CP or EP overlap asks for another value",
     .basis = Basis::kRecipes,
     .cites = {evidence::kConnectionsRecipes}},
};

void Connections(Deliberation& d) {
  const Row& row = *FirstThatHolds(kConnections, d);
  d.Export("CUDA_DEVICE_MAX_CONNECTIONS", std::string(row.value(d).text()), WhyOf(row, "decide.env.connections", d));
}

void Checkout(Deliberation& d) {
  const Stack::Checkout& checkout = d.stack.checkout;
  if (checkout.variable.empty()) return;
  d.Export(checkout.variable, std::string(checkout.path),
           {.rule_id = "decide.env.loongforge-path",
            .reason = "where its images and scripts have the checkout, which model files refer to; put yours",
            .citations = {checkout.source}});
}

// Bridge's own launcher binds every rank, so what is published was measured so; its README leaves it to whoever
// launches otherwise.
void CpuBinding(Deliberation& d) {
  const absl::string_view binding = NumaBindingOf(d.intent.env);
  if (binding.empty()) return;
  if (!d.intent.env.torch_stated) d.Report(NumaBindingAssumption(binding));
  const bool grace = absl::StrContains(d.intent.gpu.host_link, "C2C");
  d.Launcher(kNumaBindingName, binding,
             {.rule_id = "decide.env.cpu-binding",
              .reason = absl::StrCat("each rank runs on the CPUs beside its GPU: a launch or a copy to the host that "
                                     "crosses sockets takes longer, and the slowest rank is the step",
                                     grace ? "; on Grace it can matter as much as the dispatcher" : "",
                                     ". torchrun has it from PyTorch ", kNumaBindingTorch, " on and needs numactl"),
              .basis = Basis::kGuidance,
              .citations = {evidence::kCpuBindingExecutor, evidence::kCpuBindingGuide, evidence::kCpuBindingTorchrun}});
}

std::string DomainsOfEp(D d) {
  return absl::StrCat("EP ", d.f.ep, " in NVLink domains of ", d.f.domain,
                      " GPUs; a wrong size costs speed and can hang");
}
std::string NormMargin(D d) { return Flex(d) ? "20" : "16"; }

constexpr char kTopologyRule[] = "decide.env.hybridep";
constexpr char kAllocatorRule[] = "decide.env.allocator";
constexpr char kMarginRule[] = "decide.env.norm-margin";
constexpr char kMargin[] = "norm kernels leave SMs to the exchange that runs beside them";
constexpr char kDeterministicRule[] = "decide.env.deterministic";
constexpr char kRing[] = "deterministic mode; Ring satisfies Megatron-LM and Megatron-Bridge";
constexpr absl::string_view kDeterminism =
    "Megatron-Bridge@067f987df src/megatron/bridge/recipes/utils/determinism_utils.py:24";
constexpr absl::string_view kNcclAllocator = "Megatron-LM@d98e8a64dd megatron/core/nccl_allocator.py:154";
constexpr absl::string_view kExecutors = "Megatron-Bridge@067f987df scripts/performance/utils/executors.py:151";

// In the order in which they are answered.
constexpr ExportRow kVariables[] = {
    {.when = Hybridep,
     .variable = kHybridepDomainVar,
     .value = [](D d) { return absl::StrCat(std::min(d.f.ep, d.f.domain)); },
     .rule_id = kTopologyRule,
     .why = DomainsOfEp,
     .cites = {evidence::kTopologyVariables, "deepseek-ai/DeepEP#596"}},
    {.when = Hybridep,
     .variable = "NVLINK_DOMAIN_SIZE",
     .value = [](D d) { return absl::StrCat(d.f.domain); },
     .rule_id = kTopologyRule,
     .why = DomainsOfEp,
     .cites = {evidence::kTopologyVariables, "deepseek-ai/DeepEP#596"}},
    {.when = Hybridep,
     .variable = "USE_MNNVL",
     .value = [](D d) { return std::string(d.f.rack_scale ? "1" : "0"); },
     .rule_id = kTopologyRule,
     .why = DomainsOfEp,
     .cites = {evidence::kTopologyVariables, "deepseek-ai/DeepEP#596"}},
    {.when = Hybridep,
     .variable = "NUM_OF_TOKENS_PER_CHUNK_COMBINE_API",
     .value = "128",
     .rule_id = kTopologyRule,
     .why = "chunk size of most published recipes",
     .basis = Basis::kRecipes,
     .cites = {evidence::kPerfRecipeEnvironment}},
    {.when = UserBuffers,
     .variable = "NCCL_NVLS_ENABLE",
     .value = "1",
     .rule_id = kAllocatorRule,
     .why = "NCCL user buffers",
     .cites = {kNcclAllocator}},
    {.when = UserBuffers,
     .variable = "NCCL_CTA_POLICY",
     .value = "1",
     .rule_id = kAllocatorRule,
     .why = "NCCL user buffers",
     .cites = {kNcclAllocator}},
    {.when = Expandable,
     .variable = "PYTORCH_CUDA_ALLOC_CONF",
     .value =
         [](D d) {
           return std::string(WholeIteration(d) ? "expandable_segments:True,graph_capture_record_stream_reuse:True"
                                                : "expandable_segments:True");
         },
     .rule_id = kAllocatorRule,
     .why = "variable token counts fragment fixed segments",
     .basis = Basis::kMeasured,
     .cites = {evidence::kFragmentation}},
    {.when = Expandable,
     .variable = "NCCL_GRAPH_REGISTER",
     .value = "0",
     .rule_id = kAllocatorRule,
     .why = "expandable segments cannot be registered by captured collectives",
     .cites = {"Megatron-LM@d98e8a64dd megatron/training/arguments.py:1962"}},
    {.when = [](D d) { return MayExpand(d) && WholeIteration(d); },
     .variable = "TORCH_NCCL_AVOID_RECORD_STREAMS",
     .value = "0",
     .rule_id = kAllocatorRule,
     .why = "a captured iteration must record streams",
     .basis = Basis::kRecipes,
     .cites = {evidence::kPerfRecipeEnvironment}},
    {.when = [](D d) { return MayExpand(d) && !WholeIteration(d); },
     .variable = "TORCH_NCCL_AVOID_RECORD_STREAMS",
     .value = "1",
     .rule_id = kAllocatorRule,
     .why = "tensors of collectives are freed without waiting",
     .basis = Basis::kRecipes,
     .cites = {evidence::kPerfRecipeEnvironment}},
    {.when = MayExpand,
     .variable = "NCCL_NVLS_ENABLE",
     .value = "0",
     .rule_id = kAllocatorRule,
     .why = "NVLS takes memory that collectives of this plan do not pay back",
     .basis = Basis::kRecipes,
     .cites = {evidence::kPerfRecipeEnvironment}},
    {.variable = "TORCH_NCCL_HIGH_PRIORITY",
     .value = "1",
     .rule_id = "decide.env.nccl",
     .why = "collectives are not queued behind compute kernels",
     .basis = Basis::kRecipes,
     .cites = {evidence::kPerfRecipeEnvironment}},
    {.when = Exchanges,
     .variable = "NVTE_FWD_LAYERNORM_SM_MARGIN",
     .value = NormMargin,
     .rule_id = kMarginRule,
     .why = kMargin,
     .basis = Basis::kRecipes,
     .cites = {evidence::kPerfRecipeEnvironment}},
    {.when = Exchanges,
     .variable = "NVTE_BWD_LAYERNORM_SM_MARGIN",
     .value = NormMargin,
     .rule_id = kMarginRule,
     .why = kMargin,
     .basis = Basis::kRecipes,
     .cites = {evidence::kPerfRecipeEnvironment}},
    {.when = FusesExperts,
     .variable = "NVTE_CUTEDSL_FUSED_GROUPED_MLP",
     .value = "1",
     .rule_id = "decide.env.grouped-mlp",
     .why = "the op fuser's grouped MLP needs these kernels",
     .basis = Basis::kRecipes,
     .cites = {evidence::kPerfRecipeEnvironment,
               "Megatron-LM@d98e8a64dd megatron/core/transformer/moe/experts.py:454"}},
    {.when = FullIterationGraphs,
     .variable = "CUDNNFE_CLUSTER_OVERLAP_MARGIN",
     .value = "8",
     .rule_id = "decide.env.grouped-mlp",
     .why = "the op fuser's grouped MLP for MXFP8",
     .basis = Basis::kRecipes,
     .cites = {evidence::kPerfRecipeEnvironment}},
    {.when = [](D d) { return d.f.precision == Precision::kNvfp4 && d.f.benchmark; },
     .variable = "NVTE_USE_FAST_MATH",
     .value = "1",
     .rule_id = "decide.env.fast-math",
     .why = "published NVFP4 benchmarks set it; it changes rounding",
     .basis = Basis::kRecipes,
     .cites = {evidence::kPerfRecipeEnvironment}},
    // Whatever Transformer Engine is assumed: the launch may meet another.
    {.when = [](D d) { return d.on(K::fine_grained_activation_offloading); },
     .variable = "NVTE_CPU_OFFLOAD_V1",
     .value = "1",
     .rule_id = "decide.env.offload",
     .why = "fine-grained offloading requires it from Transformer Engine 2.10 on; before that nothing reads it",
     .cites = {"Megatron-LM@d98e8a64dd megatron/training/arguments.py:1939"}},
    {.when = Deterministic,
     .variable = "NCCL_ALGO",
     .value = "Ring",
     .rule_id = kDeterministicRule,
     .why = kRing,
     .cites = {kDeterminism}},
    {.when = Deterministic,
     .variable = "NVTE_ALLOW_NONDETERMINISTIC_ALGO",
     .value = "0",
     .rule_id = kDeterministicRule,
     .why = kRing,
     .cites = {kDeterminism}},
    {.when = Deterministic,
     .variable = "CUBLAS_WORKSPACE_CONFIG",
     .value = ":4096:8",
     .rule_id = kDeterministicRule,
     .why = kRing,
     .cites = {kDeterminism}},
    {.when = NicOverC2c,
     .variable = "NCCL_NET_GDR_LEVEL",
     .value = "PHB",
     .rule_id = "decide.env.nic",
     .why = "GPU-direct over NVLink-C2C",
     .basis = Basis::kRecipes,
     .cites = {kExecutors}},
    {.when = NicOverC2c,
     .variable = "NCCL_NET_GDR_C2C",
     .value = "1",
     .rule_id = "decide.env.nic",
     .why = "GPU-direct over NVLink-C2C",
     .basis = Basis::kRecipes,
     .cites = {kExecutors}},
};

}  // namespace

void DecideEnvironment(Deliberation& d) {
  Checkout(d);
  Connections(d);
  Export(d, kVariables);
  CpuBinding(d);
}

}  // namespace flightplan::decide
