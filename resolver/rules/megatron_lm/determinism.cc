// What --deterministic-mode demands of settings and environment.
#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "resolver/rules/megatron_lm/cli_util.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

bool On(F f) { return f.on(K::deterministic_mode); }

bool BadAlgorithm(F f) {
  const absl::string_view algorithm = f.var("NCCL_ALGO");
  if (!f.core(19)) {
    return algorithm != "Tree" && algorithm != "Ring" && algorithm != "CollnetDirect" && algorithm != "CollnetChain" &&
           algorithm != "^NVLS";
  }
  if (!f.var_set("NCCL_ALGO")) return false;
  int tokens = 0;
  for (absl::string_view token : absl::StrSplit(algorithm, ',')) {
    token = absl::StripAsciiWhitespace(token);
    if (token.empty()) continue;
    ++tokens;
    if (token != "Ring" && token != "CollnetDirect" && token != "CollnetChain" && token != "^NVLS") return true;
  }
  return tokens == 0;
}

bool BadVariables(F f) {
  const bool nvte = f.var_set("NVTE_ALLOW_NONDETERMINISTIC_ALGO") && f.var("NVTE_ALLOW_NONDETERMINISTIC_ALGO") != "0";
  const absl::string_view cublas = f.var("CUBLAS_WORKSPACE_CONFIG");
  return nvte || (f.var_set("CUBLAS_WORKSPACE_CONFIG") && cublas != ":4096:8" && cublas != ":16:8");
}

// The state-space kernels follow torch unless a variable forbids it.
bool BadSsmVariable(F f) {
  for (absl::string_view name : {"MAMBA_DETERMINISTIC", "CAUSAL_CONV1D_DETERMINISTIC"}) {
    if (!f.var(name).empty() && f.var(name)[0] != '1') return true;
  }
  return false;
}

void SetDefaults(Editor& e) {
  if (!On(e.facts())) return;
  for (const auto& [name, value] : {std::pair{"NCCL_ALGO", "Ring"}, std::pair{"NVTE_ALLOW_NONDETERMINISTIC_ALGO", "0"},
                                    std::pair{"CUBLAS_WORKSPACE_CONFIG", ":4096:8"}}) {
    if (!e.facts().var_set(name)) e.SetVar(name, value);
  }
}

const Rule kRules[] = {
    {.id = "mlm.det-no-flash-attn",
     .area = "determinism",
     .at = {Phase::kCliValidate, 1703},
     .source = "Megatron-LM:megatron/training/arguments.py:1703",
     .core = {0, 18},
     .reads = {K::deterministic_mode, K::use_flash_attn},
     .when = [](F f) { return On(f) && f.on(K::use_flash_attn); },
     .needs = "deterministic mode excludes use_flash_attn in this release",
     .fixes = {{{K::use_flash_attn, false}}, {{K::deterministic_mode, false}}}},
    {.id = "mlm.det-values",
     .area = "determinism",
     .at = {Phase::kCliValidate, 1705, 1},
     .source = "Megatron-LM:megatron/training/determinism.py:146",
     .reads = {K::deterministic_mode, K::cross_entropy_loss_fusion, K::tp_comm_overlap},
     .when =
         [](F f) { return On(f) && (f.on(K::cross_entropy_loss_fusion) || (f.core(19) && f.on(K::tp_comm_overlap))); },
     .needs = "deterministic mode excludes cross_entropy_loss_fusion and tp_comm_overlap",
     .fixes = {{{K::cross_entropy_loss_fusion, false}, {K::tp_comm_overlap, false}}, {{K::deterministic_mode, false}}}},
    {.id = "mlm.det-nccl-algo",
     .area = "env",
     .at = {Phase::kCliValidate, 1705, 2},
     .source = "Megatron-LM:megatron/training/determinism.py:91",
     .reads = {K::deterministic_mode},
     .reads_env = {"NCCL_ALGO"},
     .when = [](F f) { return On(f) && BadAlgorithm(f); },
     .needs = "deterministic mode allows NCCL_ALGO Ring, CollnetDirect, CollnetChain and ^NVLS",
     .fixes = {{{{}, "Ring", "NCCL_ALGO"}}, {{K::deterministic_mode, false}}}},
    {.id = "mlm.det-env-values",
     .area = "env",
     .at = {Phase::kCliValidate, 1705, 3},
     .source = "Megatron-LM:megatron/training/determinism.py:100",
     .core = {19, kMain},
     .reads = {K::deterministic_mode},
     .reads_env = {"NVTE_ALLOW_NONDETERMINISTIC_ALGO", "CUBLAS_WORKSPACE_CONFIG"},
     .when = [](F f) { return On(f) && BadVariables(f); },
     .needs =
         "deterministic mode needs NVTE_ALLOW_NONDETERMINISTIC_ALGO 0 and CUBLAS_WORKSPACE_CONFIG :4096:8 or :16:8",
     .fixes = {{{{}, "0", "NVTE_ALLOW_NONDETERMINISTIC_ALGO"}, {{}, ":4096:8", "CUBLAS_WORKSPACE_CONFIG"}},
               {{K::deterministic_mode, false}}}},
    {.id = "mlm.det-ssm-env",
     .area = "env",
     .at = {Phase::kCliValidate, 1705, 4},
     .source = "Megatron-LM:megatron/training/determinism.py:107",
     .core = {kMain, kMain},
     .reads = {K::deterministic_mode},
     .reads_env = {"MAMBA_DETERMINISTIC", "CAUSAL_CONV1D_DETERMINISTIC"},
     .when = [](F f) { return On(f) && BadSsmVariable(f); },
     .needs = "deterministic mode needs MAMBA_DETERMINISTIC and CAUSAL_CONV1D_DETERMINISTIC unset or 1",
     .fixes = {{{{}, "1", "MAMBA_DETERMINISTIC"}, {{}, "1", "CAUSAL_CONV1D_DETERMINISTIC"}},
               {{K::deterministic_mode, false}}}},
    {.id = "mlm.det-env-defaults",
     .area = "env",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 1705, 5},
     .source = "Megatron-LM:megatron/training/determinism.py:115",
     .core = {19, kMain},
     .reads = {K::deterministic_mode},
     .change = [](Editor& e) { SetDefaults(e); }},
};

}  // namespace

RuleList MegatronLmDeterminismRules() { return kRules; }

}  // namespace flightplan
