// Environment variables that go with the decided configuration.
#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "resolver/plan/stack.h"
#include "resolver/rules/decide/deliberation.h"
#include "resolver/rules/decide/evidence.h"

namespace flightplan::decide {
namespace {

using K = Knob;

void Connections(Deliberation& d) {
  const Features& f = d.f;
  const bool overlap = d.on(K::overlap_moe_expert_parallel_comm);
  const bool flex = d.is(K::moe_token_dispatcher_type, "flex");
  Why why{.rule_id = "decide.env.connections", .basis = Basis::kRecipes, .citations = {evidence::kConnectionsRecipes}};
  int connections = 8;
  if (f.fsdp) {
    why.reason = "FSDP refuses 1; its gathers need queues of their own";
  } else if (f.blackwell) {
    connections = 32;
    why.reason = "Blackwell orders kernels without the single queue, so every stream gets one";
  } else if (overlap) {
    connections = 32;
    why.reason = f.tp > 1
                     ? "EP overlap needs queues of its own: 198.5 TFLOP/s/GPU at 32 against 191.1 at 1, even with TP"
                     : "EP overlap needs queues of its own";
    why.basis = Basis::kMeasured;
    why.citations = {evidence::kConnectionsMeasured};
  } else if (f.tp > 1 || f.cp > 1) {
    connections = 1;
    why.reason = "on Hopper and before, TP and CP rely on one queue to start communication before the GEMMs";
    why.basis = Basis::kRule;
    why.citations = {evidence::kConnectionsRequired};
  } else if (flex) {
    connections = 32;
    why.reason = "the flex dispatcher's streams get queues of their own";
  } else {
    why.reason = "no TP, CP or EP overlap asks for another value";
  }
  d.Export("CUDA_DEVICE_MAX_CONNECTIONS", absl::StrCat(connections), std::move(why));
}

void HybridepTopology(Deliberation& d) {
  const Features& f = d.f;
  if (!d.is(K::moe_token_dispatcher_type, "flex") || !d.is(K::moe_flex_dispatcher_backend, "hybridep")) return;
  Why why{.rule_id = "decide.env.hybridep",
          .reason = absl::StrCat("EP ", f.ep, " in NVLink domains of ", f.domain,
                                 " GPUs; a wrong size costs speed and can hang"),
          .citations = {evidence::kTopologyVariables, "deepseek-ai/DeepEP#596"}};
  d.Export("NUM_OF_HYBRID_EP_RANKS_PER_NVLINK_DOMAIN", absl::StrCat(std::min(f.ep, f.domain)), why);
  d.Export("NVLINK_DOMAIN_SIZE", absl::StrCat(f.domain), why);
  d.Export("USE_MNNVL", f.rack_scale ? "1" : "0", std::move(why));
  d.Export("NUM_OF_TOKENS_PER_CHUNK_COMBINE_API", "128",
           {.rule_id = "decide.env.hybridep",
            .reason = "chunk size of most published recipes",
            .basis = Basis::kRecipes,
            .citations = {evidence::kPerfRecipeEnvironment}});
}

void Allocator(Deliberation& d) {
  constexpr absl::string_view kRule = "decide.env.allocator";
  if (d.on(K::nccl_ub)) {
    Why why{.rule_id = kRule,
            .reason = "NCCL user buffers",
            .citations = {"Megatron-LM@d98e8a64dd megatron/core/nccl_allocator.py:154"}};
    d.Export("NCCL_NVLS_ENABLE", "1", why);
    d.Export("NCCL_CTA_POLICY", "1", std::move(why));
    return;  // expandable segments and user buffers exclude each other before torch 2.11
  }
  const bool whole = d.is(K::cuda_graph_impl, "full_iteration");
  Why why{.rule_id = kRule,
          .reason = "variable token counts fragment fixed segments",
          .basis = Basis::kMeasured,
          .citations = {evidence::kFragmentation}};
  d.Export("PYTORCH_CUDA_ALLOC_CONF",
           whole ? "expandable_segments:True,graph_capture_record_stream_reuse:True" : "expandable_segments:True",
           std::move(why));
  d.Export("NCCL_GRAPH_REGISTER", "0",
           {.rule_id = kRule,
            .reason = "expandable segments cannot be registered by captured collectives",
            .citations = {"Megatron-LM@d98e8a64dd megatron/training/arguments.py:1962"}});
  Why streams{
      .rule_id = kRule,
      .reason = whole ? "a captured iteration must record streams" : "tensors of collectives are freed without waiting",
      .basis = Basis::kRecipes,
      .citations = {evidence::kPerfRecipeEnvironment}};
  d.Export("TORCH_NCCL_AVOID_RECORD_STREAMS", whole ? "0" : "1", std::move(streams));
  d.Export("NCCL_NVLS_ENABLE", "0",
           {.rule_id = kRule,
            .reason = "NVLS takes memory that collectives of this plan do not pay back",
            .basis = Basis::kRecipes,
            .citations = {evidence::kPerfRecipeEnvironment}});
}

void Checkout(Deliberation& d) {
  const Stack::Checkout& checkout = StackOf(d.intent.env).checkout;
  if (checkout.variable.empty()) return;
  d.Export(checkout.variable, std::string(checkout.path),
           {.rule_id = "decide.env.loongforge-path",
            .reason = "where its images and scripts have the checkout, which model files refer to; put yours",
            .citations = {checkout.source}});
}

}  // namespace

void DecideEnvironment(Deliberation& d) {
  const Features& f = d.f;
  Checkout(d);
  Connections(d);
  HybridepTopology(d);
  Allocator(d);
  d.Export("TORCH_NCCL_HIGH_PRIORITY", "1",
           {.rule_id = "decide.env.nccl",
            .reason = "collectives are not queued behind compute kernels",
            .basis = Basis::kRecipes,
            .citations = {evidence::kPerfRecipeEnvironment}});
  if (f.moe && f.ep > 1) {
    const bool flex = d.is(K::moe_token_dispatcher_type, "flex");
    Why why{.rule_id = "decide.env.norm-margin",
            .reason = "norm kernels leave SMs to the exchange that runs beside them",
            .basis = Basis::kRecipes,
            .citations = {evidence::kPerfRecipeEnvironment}};
    d.Export("NVTE_FWD_LAYERNORM_SM_MARGIN", flex ? "20" : "16", why);
    d.Export("NVTE_BWD_LAYERNORM_SM_MARGIN", flex ? "20" : "16", std::move(why));
  }
  if (d.full_iteration_graphs) {
    Why why{.rule_id = "decide.env.grouped-mlp",
            .reason = "the op fuser's grouped MLP for MXFP8",
            .basis = Basis::kRecipes,
            .citations = {evidence::kPerfRecipeEnvironment}};
    d.Export("NVTE_CUTEDSL_FUSED_GROUPED_MLP", "1", why);
    d.Export("CUDNNFE_CLUSTER_OVERLAP_MARGIN", "8", std::move(why));
  }
  if (f.precision == Precision::kNvfp4 && f.benchmark) {
    d.Export("NVTE_USE_FAST_MATH", "1",
             {.rule_id = "decide.env.fast-math",
              .reason = "published NVFP4 benchmarks set it; it changes rounding",
              .basis = Basis::kRecipes,
              .citations = {evidence::kPerfRecipeEnvironment}});
  }
  if (d.on(K::fine_grained_activation_offloading) && d.te_at_least("2.10.0")) {
    d.Export("NVTE_CPU_OFFLOAD_V1", "1",
             {.rule_id = "decide.env.offload",
              .reason = "fine-grained offloading requires it from Transformer Engine 2.10 on",
              .citations = {"Megatron-LM@d98e8a64dd megatron/training/arguments.py:1939"}});
  }
  if (d.on(K::deterministic_mode)) {
    Why why{.rule_id = "decide.env.deterministic",
            .reason = "deterministic mode; Ring satisfies Megatron-LM and Megatron-Bridge",
            .citations = {"Megatron-Bridge@067f987df src/megatron/bridge/recipes/utils/determinism_utils.py:24"}};
    d.Export("NCCL_ALGO", "Ring", why);
    d.Export("NVTE_ALLOW_NONDETERMINISTIC_ALGO", "0", why);
    d.Export("CUBLAS_WORKSPACE_CONFIG", ":4096:8", std::move(why));
  }
  // Grace hosts: the NIC reaches GPU memory over C2C.
  if (f.rack_scale && absl::StrContains(d.intent.gpu.host_link, "C2C") && d.intent.gpu.cc_minor == 0) {
    Why why{.rule_id = "decide.env.nic",
            .reason = "GPU-direct over NVLink-C2C",
            .basis = Basis::kRecipes,
            .citations = {"Megatron-Bridge@067f987df scripts/performance/utils/executors.py:151"}};
    d.Export("NCCL_NET_GDR_LEVEL", "PHB", why);
    d.Export("NCCL_NET_GDR_C2C", "1", std::move(why));
  }
}

}  // namespace flightplan::decide
