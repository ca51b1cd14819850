// What NeMo-RL checks of its settings before its policy is built (NVIDIA-NeMo/RL@7ea279abf). The reader finds these,
// which sees the whole chain of files (stacks/nemo_rl/checks.cc); the rows say what they mean.
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

bool Never(const Facts&) { return false; }

const Rule kRules[] = {
    {.id = "nemo-rl.settings",
     .area = "cli",
     .at = {Phase::kParse, 1},
     .source = "NeMo-RL:nemo_rl/utils/config.py:69",
     .when = Never,
     .needs = "YAML files that can be read, and overrides in Hydra's grammar"},
    {.id = "nemo-rl.backend",
     .area = "cli",
     .at = {Phase::kParse, 2},
     .source = "NeMo-RL:nemo_rl/models/policy/lm_policy.py:121",
     .when = Never,
     .needs = "Megatron or DTensor trains the policy, not both"},
    {.id = "nemo-rl.missing",
     .area = "cli",
     .at = {Phase::kParse, 3},
     .source = "NeMo-RL:nemo_rl/models/megatron/setup.py:858",
     .when = Never,
     .needs = "the keys that the policy's workers read without a default"},
    {.id = "nemo-rl.context-packing",
     .area = "context-parallel",
     .at = {Phase::kParse, 4},
     .source = "NeMo-RL:nemo_rl/models/megatron/setup.py:880",
     .when = Never,
     .needs = "context parallelism takes packed sequences"},
    {.id = "nemo-rl.optimizer-offload",
     .area = "offload",
     .at = {Phase::kParse, 5},
     .source = "NeMo-RL:nemo_rl/models/megatron/setup.py:1223",
     .when = Never,
     .needs = "an optimizer on the host is distributed"},
    {.id = "nemo-rl.offload-modules",
     .area = "offload",
     .at = {Phase::kParse, 6},
     .source = "NeMo-RL:nemo_rl/models/megatron/setup.py:1193",
     .when = Never,
     .needs = "fine-grained offloading names its modules"},
    {.id = "nemo-rl.recompute",
     .area = "recompute",
     .at = {Phase::kParse, 7},
     .source = "NeMo-RL:nemo_rl/models/megatron/setup.py:1088",
     .when = Never,
     .needs = "recompute is full or selective"},
    {.id = "nemo-rl.adapters",
     .area = "cli",
     .at = {Phase::kParse, 8},
     .source = "NeMo-RL:nemo_rl/models/megatron/setup.py:1774",
     .when = Never,
     .needs = "adapters have a dim and an alpha"},
    {.id = "nemo-rl.logprob-chunks",
     .area = "cli",
     .at = {Phase::kParse, 9},
     .source = "NeMo-RL:nemo_rl/models/megatron/setup.py:1245",
     .when = Never,
     .needs = "logits in chunks are cast to FP32 late"},
    {.id = "nemo-rl.fused-logprobs",
     .area = "cli",
     .at = {Phase::kParse, 10},
     .source = "NeMo-RL:nemo_rl/models/megatron/setup.py:1397",
     .when = Never,
     .needs = "fused log probabilities do not go with overlap_param_gather"},
};

}  // namespace

RuleList NemoRlSettingsRules() { return kRules; }

}  // namespace flightplan
