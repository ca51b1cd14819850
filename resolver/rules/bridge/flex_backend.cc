// The flex dispatcher backend: what apply_flex_dispatcher_backend changes before a Bridge launch starts, and what
// validate_flex_dispatcher_backend says at the very end of the config check.
// Lines are those of NVIDIA-NeMo/Megatron-Bridge@067f987df src/megatron/bridge/training/flex_dispatcher_backend.py.
#include "absl/strings/match.h"
#include "resolver/rules/flex_dispatcher.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

// The call at the end of ConfigContainer.validate.
constexpr int kValidateLine = 1650;

// Named by the GPU: GB200 and GB300 share the compute capability of B200, but do not count.
bool DeepEpGpu(F f) {
  return f.env().cc_major == 8 || f.env().cc_major == 9 || absl::StartsWith(f.env().gpu_name, "NVIDIA B200") ||
         absl::StartsWith(f.env().gpu_name, "NVIDIA B300");
}
bool HybridEpGpu(F f) {
  const bool unpublished =
      f.env().cc_major == 0 && !f.env().gpu_name.empty();  // a GPU so new that only recipes name it
  return unpublished || (f.env().cc_major >= 8 && f.env().cc_major <= 10);
}

bool Asked(F f) { return f.set(K::launch_flex_backend); }
bool Moe(F f) { return f.num(K::num_moe_experts) != 0; }
bool KnownBackend(F f) { return f.in(K::launch_flex_backend, {"deepep", "hybridep"}); }
// Newer than 0.6, the backend is taken on trust where no GPU is visible, as on a login node.
bool OnTrust(F f) { return f.bridge(kMain) && !f.env().has_cuda; }
bool DeepEpRefused(F f) {
  return Asked(f) && Moe(f) && !OnTrust(f) && f.is(K::launch_flex_backend, "deepep") && !DeepEpGpu(f);
}
bool HybridEpRefused(F f) {
  return Asked(f) && Moe(f) && !OnTrust(f) && f.is(K::launch_flex_backend, "hybridep") && !HybridEpGpu(f);
}

const Rule kRules[] = {
    {.id = "bridge.gaf-default",
     .area = "grad-accum-fusion",
     .kind = Kind::kChange,
     .at = {Phase::kFlexBackend, 0},
     .source = "Megatron-Bridge:src/megatron/bridge/models/gpt_provider.py:206",
     .reads = {K::gradient_accumulation_fusion},
     .reads_env = {"te"},
     .change =
         [](Editor& e) {
           const Facts& f = e.facts();
           if (!f.given(K::gradient_accumulation_fusion) && !f.te_installed()) {
             e.Set(K::gradient_accumulation_fusion, false);
           }
         }},
    {.id = "flex.apply-not-moe",
     .area = "dispatcher",
     .kind = Kind::kWarning,
     .at = {Phase::kFlexBackend, 45},
     .source = "Megatron-Bridge:src/megatron/bridge/training/flex_dispatcher_backend.py:45",
     .reads = {K::launch_flex_backend, K::num_moe_experts},
     .when = [](F f) { return Asked(f) && !Moe(f); },
     .needs = "a flex backend has an effect on MoE models only",
     .fixes = {{{K::launch_flex_backend, kUnset}}}},
    {.id = "flex.apply-deepep-gpu-fallback",
     .area = "gpu-gate",
     .kind = Kind::kWarning,
     .at = {Phase::kFlexBackend, 64},
     .source = "Megatron-Bridge:src/megatron/bridge/training/flex_dispatcher_backend.py:64",
     .reads = {K::launch_flex_backend},
     .reads_env = {"gpu", "cc_major"},
     .when = DeepEpRefused,
     .needs = "DeepEP runs on Ampere, Hopper, B200 and B300; on other GPUs the launch goes on without it",
     .fixes = {{{K::launch_flex_backend, "hybridep"}}, {{K::launch_flex_backend, kUnset}}}},
    {.id = "flex.apply-hybridep-gpu-fallback",
     .area = "gpu-gate",
     .kind = Kind::kWarning,
     .at = {Phase::kFlexBackend, 73},
     .source = "Megatron-Bridge:src/megatron/bridge/training/flex_dispatcher_backend.py:73",
     .reads = {K::launch_flex_backend},
     .reads_env = {"gpu", "cc_major"},
     .when = HybridEpRefused,
     .needs = "HybridEP runs on Ampere, Hopper and Blackwell data-centre GPUs; elsewhere the launch goes on without it",
     .fixes = {{{K::launch_flex_backend, kUnset}}}},
    {.id = "flex.apply-unknown-backend",
     .area = "dispatcher",
     .kind = Kind::kWarning,
     .at = {Phase::kFlexBackend, 81},
     .source = "Megatron-Bridge:src/megatron/bridge/training/flex_dispatcher_backend.py:81",
     .reads = {K::launch_flex_backend},
     .when = [](F f) { return Asked(f) && Moe(f) && !KnownBackend(f); },
     .needs = "this call knows 'deepep' and 'hybridep' and ignores anything else",
     .fixes = {{{K::launch_flex_backend, "deepep"}}, {{K::launch_flex_backend, "hybridep"}}}},
    {.id = "flex.apply-sets",
     .area = "dispatcher",
     .kind = Kind::kChange,
     .at = {Phase::kFlexBackend, 83},
     .source = "Megatron-Bridge:src/megatron/bridge/training/flex_dispatcher_backend.py:83",
     .reads = {K::launch_flex_backend, K::moe_token_dispatcher_type, K::moe_flex_dispatcher_backend,
               K::moe_shared_expert_overlap},
     .reads_env = {"gpu", "cc_major"},
     .change =
         [](Editor& e) {
           const Facts& f = e.facts();
           if (!Asked(f) || !Moe(f) || !KnownBackend(f)) return;
           if (DeepEpRefused(f) || HybridEpRefused(f)) {
             if (!f.bridge(6)) return;  // 0.4 and 0.5 only warn; since 0.6 alltoall takes its place
             e.Set(K::moe_token_dispatcher_type, "alltoall");
             e.Set(K::moe_flex_dispatcher_backend, Value());
             return;
           }
           e.Set(K::moe_token_dispatcher_type, "flex");
           e.Set(K::moe_flex_dispatcher_backend, f.value(K::launch_flex_backend));
           e.Set(K::moe_shared_expert_overlap, false);
         }},
    {.id = "flex.validate-none-backend",
     .area = "dispatcher",
     .kind = Kind::kChange,
     .at = {Phase::kContainer, kValidateLine, 0},
     .source = "Megatron-Bridge:src/megatron/bridge/training/flex_dispatcher_backend.py:91",
     .bridge = {.since = kMain},
     .reads = {K::moe_token_dispatcher_type, K::moe_flex_dispatcher_backend},
     .change =
         [](Editor& e) {
           const Facts& f = e.facts();
           if (Flex(f) && f.none(K::moe_flex_dispatcher_backend)) {
             e.Set(K::moe_token_dispatcher_type, "alltoall");
           }
         }},
    {.id = "flex.deepep-gpu",
     .area = "gpu-gate",
     .at = {Phase::kContainer, kValidateLine, 1},
     .source = "Megatron-Bridge:src/megatron/bridge/training/flex_dispatcher_backend.py:100",
     .reads = {K::moe_token_dispatcher_type, K::moe_flex_dispatcher_backend},
     .reads_env = {"gpu", "cc_major"},
     .when = [](F f) { return FlexBackend(f, "deepep") && !DeepEpGpu(f); },
     .needs = "DeepEP runs on Ampere, Hopper, B200 and B300 only",
     .fixes = {{{K::moe_token_dispatcher_type, "alltoall"},
                {K::moe_flex_dispatcher_backend, kUnset},
                {K::moe_enable_deepep, false}}},
     .fix =
         [](F f) {  // the deprecated switch would bring DeepEP back
           std::vector<Patch> patches;
           if (HybridEpGpu(f)) {
             patches.push_back(
                 {Assign(K::moe_flex_dispatcher_backend, "hybridep"), Assign(K::moe_enable_deepep, false)});
           }
           return patches;
         }},
    {.id = "flex.hybridep-gpu",
     .area = "gpu-gate",
     .at = {Phase::kContainer, kValidateLine, 2},
     .source = "Megatron-Bridge:src/megatron/bridge/training/flex_dispatcher_backend.py:107",
     .reads = {K::moe_token_dispatcher_type, K::moe_flex_dispatcher_backend},
     .reads_env = {"gpu", "cc_major"},
     .when = [](F f) { return FlexBackend(f, "hybridep") && !HybridEpGpu(f); },
     .needs = "HybridEP runs on Ampere, Hopper and Blackwell data-centre GPUs only",
     .fixes = {{{K::moe_token_dispatcher_type, "alltoall"}, {K::moe_flex_dispatcher_backend, kUnset}}}},
};

}  // namespace

RuleList BridgeFlexBackendRules() { return kRules; }

}  // namespace flightplan
