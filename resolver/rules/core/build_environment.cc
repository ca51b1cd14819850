// Environment variables that model construction refuses or that a kernel needs (NVIDIA/Megatron-LM@d98e8a64dd). What a
// command line or config container checks earlier is with those rules.
#include <array>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

// NVTE_FLASH_ATTN, NVTE_FUSED_ATTN, NVTE_UNFUSED_ATTN that a backend stands for.
struct BackendVars {
  absl::string_view backend;
  std::array<absl::string_view, 3> values;
};
constexpr std::array<absl::string_view, 3> kAttentionVars = {"NVTE_FLASH_ATTN", "NVTE_FUSED_ATTN", "NVTE_UNFUSED_ATTN"};
constexpr BackendVars kBackends[] = {{"auto", {"1", "1", "1"}},
                                     {"flash", {"1", "0", "0"}},
                                     {"fused", {"0", "1", "0"}},
                                     {"unfused", {"0", "0", "1"}},
                                     {"local", {"0", "0", "0"}}};

const BackendVars* VarsOf(F f) {
  for (const BackendVars& backend : kBackends) {
    if (f.is(K::attention_backend, backend.backend)) return &backend;
  }
  return nullptr;
}

// LoongForge's models that are no LanguageModule, whose constructor alone sets these variables
// (LoongForge:loongforge/models/diffusion/wan/wan_model.py:198).
bool NoLanguageModel(F f) {
  return f.fork() && f.in(K::model_family, {"wan2_1_i2v", "wan2_2_i2v", "qwen_image", "pi05", "groot_n1_6"});
}

bool Contradicts(F f) {
  const BackendVars* backend = VarsOf(f);
  if (backend == nullptr || NoLanguageModel(f)) return false;
  for (size_t i = 0; i < kAttentionVars.size(); ++i) {
    if (f.var_set(kAttentionVars[i]) && f.var(kAttentionVars[i]) != backend->values[i]) return true;
  }
  return false;
}

std::vector<Patch> FollowBackend(F f) {
  const BackendVars* backend = VarsOf(f);
  if (backend == nullptr) return {};
  Patch patch;
  for (size_t i = 0; i < kAttentionVars.size(); ++i) patch.push_back(AssignVar(kAttentionVars[i], backend->values[i]));
  return {patch};
}

// Fewer than 16, or the driver's 8 where it is unset.
bool FewConnections(F f) {
  int64_t connections = 8;
  const absl::string_view text = f.var("CUDA_DEVICE_MAX_CONNECTIONS");
  return text.empty() || !absl::SimpleAtoi(text, &connections) || connections < 16;
}

bool TransformerEngine(F f) { return f.is(K::transformer_impl, "transformer_engine"); }

// The op fuser on gated experts, without the variable that turns its kernels on.
bool FusesWithoutKernels(F f) {
  const bool gated = f.on(K::gated_linear_unit) && f.in(K::activation_func, {"silu", "quick_gelu"});
  const bool fuses = f.num(K::num_moe_experts) > 0 && f.on(K::use_transformer_engine_op_fuser);
  int64_t kernels = 0;
  return gated && fuses && f.on(K::moe_grouped_gemm) &&
         (!absl::SimpleAtoi(f.var("NVTE_CUTEDSL_FUSED_GROUPED_MLP"), &kernels) || kernels <= 0);
}

const Rule kRules[] = {
    {.id = "env.attn-backend",
     .area = "env",
     .at = {Phase::kBuild, 30108},
     .source = "Megatron-LM:megatron/core/models/common/language_module/language_module.py:108",
     .reads = {K::attention_backend},
     .reads_env = {"NVTE_FLASH_ATTN", "NVTE_FUSED_ATTN", "NVTE_UNFUSED_ATTN"},
     .when = Contradicts,
     .needs = "choose the backend with attention_backend only; the variables must agree with it or stay unset",
     .fix = FollowBackend},
    {.id = "env.det.te-attention",
     .area = "env",
     .at = {Phase::kBuild, 30155},
     .source = "Megatron-LM:megatron/core/extensions/transformer_engine.py:2155",
     .reads = {K::deterministic_mode},
     .reads_env = {"NVTE_ALLOW_NONDETERMINISTIC_ALGO"},
     .when =
         [](F f) {
           return f.on(K::deterministic_mode) && TransformerEngine(f) && (!f.command_line() || f.fork()) &&
                  f.var("NVTE_ALLOW_NONDETERMINISTIC_ALGO") != "0";
         },
     .needs = "deterministic mode with Transformer Engine attention needs NVTE_ALLOW_NONDETERMINISTIC_ALGO=0",
     .fixes = {{{.value = "0", .env_var = "NVTE_ALLOW_NONDETERMINISTIC_ALGO"}}, {{K::deterministic_mode, false}}}},
    {.id = "env.qk-scaling",
     .area = "env",
     .at = {Phase::kBuild, 30281},
     .source = "Megatron-LM:megatron/core/extensions/transformer_engine.py:2081",
     .reads = {K::apply_query_key_layer_scaling},
     .reads_env = {"NVTE_APPLY_QK_LAYER_SCALING"},
     .when =
         [](F f) {
           const bool variable = f.var("NVTE_APPLY_QK_LAYER_SCALING") == "1";
           return TransformerEngine(f) && variable != f.on(K::apply_query_key_layer_scaling);
         },
     .needs = "NVTE_APPLY_QK_LAYER_SCALING must be 1 exactly when apply_query_key_layer_scaling is set",
     .fix =
         [](F f) {
           const bool on = f.on(K::apply_query_key_layer_scaling);
           return std::vector<Patch>{{AssignVar("NVTE_APPLY_QK_LAYER_SCALING", on ? "1" : "0")}};
         }},
    {.id = "build.op-fuser-cutedsl",
     .area = "grouped-gemm",
     .at = {Phase::kBuild, 701},
     .source = "Megatron-LM:megatron/core/transformer/moe/experts.py:454",
     .core = {19, kMain},
     .reads = {K::use_transformer_engine_op_fuser, K::moe_grouped_gemm, K::num_moe_experts, K::activation_func,
               K::gated_linear_unit},
     .reads_env = {"NVTE_CUTEDSL_FUSED_GROUPED_MLP"},
     .when = FusesWithoutKernels,
     .needs = "the op fuser on gated experts needs the kernels that NVTE_CUTEDSL_FUSED_GROUPED_MLP=1 turns on",
     .fixes = {{{.value = "1", .env_var = "NVTE_CUTEDSL_FUSED_GROUPED_MLP"}},
               {{K::use_transformer_engine_op_fuser, false}}}},
    {.id = "build.te-softmax-type",
     .area = "attention",
     .at = {Phase::kBuild, 30282},
     .source = "Megatron-LM:megatron/core/extensions/transformer_engine.py:2185",
     .reads = {K::softmax_type, K::transformer_impl},
     .reads_env = {"te"},
     .when =
         [](F f) {
           return f.set(K::softmax_type) && !f.is(K::softmax_type, "vanilla") && TransformerEngine(f) &&
                  f.te_installed() && !f.te_at_least("2.8.0");
         },
     .needs = "attention sinks need Transformer Engine 2.8.0, or the local attention",
     .fixes = {{{K::transformer_impl, "local"}}}},
    {.id = "build.te-max-logit",
     .area = "attention",
     .at = {Phase::kBuild, 30283},
     .source = "Megatron-LM:megatron/core/extensions/transformer_engine.py:2219",
     .core = {16, kMain},
     .reads = {K::qk_clip, K::log_max_attention_logit},
     .reads_env = {"te"},
     .when =
         [](F f) {
           // The command line asks itself.
           return !f.command_line() && (f.on(K::qk_clip) || f.on(K::log_max_attention_logit)) && f.te_installed() &&
                  !f.te_at_least("2.9.0");
         },
     .needs = "clipping or logging attention logits needs Transformer Engine 2.9.0",
     .fixes = {{{K::qk_clip, false}, {K::log_max_attention_logit, false}}}},
    {.id = "build.te-graph-cross-entropy",
     .area = "cuda-graph",
     .at = {Phase::kBuild, 30284},
     .source = "Megatron-LM:megatron/core/models/common/language_module/language_module.py:181",
     .core = {18, kMain},
     .reads = {K::cuda_graph_impl, K::cross_entropy_loss_fusion, K::cross_entropy_fusion_impl},
     .reads_env = {"te"},
     .when =
         [](F f) {
           return f.is(K::cuda_graph_impl, "full_iteration") && f.on(K::cross_entropy_loss_fusion) &&
                  f.is(K::cross_entropy_fusion_impl, "te") && f.te_installed() && !f.te_at_least("2.7.0");
         },
     .needs = "Transformer Engine's cross entropy can be captured from 2.7.0 on",
     .fixes = {{{K::cross_entropy_fusion_impl, "native"}}}},
    {.id = "env.cdmc.graphs-gtp",
     .area = "env",
     .kind = Kind::kWarning,
     .at = {Phase::kBuild, 30300},
     .source = "Megatron-LM:megatron/core/transformer/cuda_graphs.py:107",
     .core = {.since = kMain},
     .reads = {K::gtp_weight_remat_size, K::cuda_graph_impl},
     .reads_env = {"CUDA_DEVICE_MAX_CONNECTIONS"},
     .when =
         [](F f) {
           return f.num(K::gtp_weight_remat_size) > 1 && f.is(K::cuda_graph_impl, "local") && FewConnections(f);
         },
     .needs = "the graphs of sharded weights run on many streams: below 16 connections they wait for each other",
     .fixes = {{{.value = "32", .env_var = "CUDA_DEVICE_MAX_CONNECTIONS"}}}},
};

}  // namespace

RuleList CoreBuildEnvironmentRules() { return kRules; }

}  // namespace flightplan
