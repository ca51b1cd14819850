#include "resolver/stacks/slime/flags.h"

namespace flightplan {
namespace {

constexpr FlagForm kValue = FlagForm::kValue, kList = FlagForm::kList, kListOrEmpty = FlagForm::kListOrEmpty;
constexpr FlagForm kSwitchOn = FlagForm::kSwitchOn;
constexpr ValueType kString = ValueType::kString, kInt = ValueType::kInt, kFloat = ValueType::kFloat;

constexpr FlagSpec kFlags[] = {
    {"--advantage-estimator",
     {},
     kValue,
     kString,
     "grpo|gspo|cispo|reinforce_plus_plus|reinforce_plus_plus_baseline|ppo"},
    {"--ci-train-rollout-logprob-abs-diff-threshold", {}, kValue, kFloat},
    {"--custom-advantage-function-path", {}, kValue, kString},
    {"--freeze-params-name-list", {}, kListOrEmpty, kString},
    {"--load-forge-rollout-data", {}, kValue, kString},
    {"--loss-mask-type", {}, kValue, kString, "qwen|qwen3|qwen3_5|distill_qwen"},
    {"--megatron-config-path", {}, kValue, kString},
    {"--megatron-deepgemm-forward-layers", {}, kList, kInt},
    {"--megatron-deepgemm-forward-modules", {}, kList, kString},
    {"--megatron-deepgemm-moe-forward-layers", {}, kList, kInt},
    {"--megatron-deepgemm-moe-forward-modules", {}, kList, kString},
    {"--only-train-params-name-list", {}, kListOrEmpty, kString},
    {"--qwen-gdn-backend", {}, kValue, kString, "fla|flashqla"},
    {"--record-memory-history", {}, kSwitchOn},
    {"--release-train", {}, kSwitchOn},
    {"--rollout-data-transport", {}, kValue, kString, "object-store|nixl"},
    {"--rollout-sample-hook-path", {}, kValue, kString},
    {"--train-backend", {}, kValue, kString, "megatron"},
    {"--update-weight-disk-keep-files", {}, kSwitchOn},
    {"--update-weight-mode", {}, kValue, kString, "full|delta"},
    {"--update-weight-transport", {}, kValue, kString, "nccl|disk"},
    {"--use-stateless-adam", {}, kSwitchOn},
    {"--use-gated-attention", {}, kSwitchOn},  // of its patch of Megatron-LM
};

}  // namespace

absl::Span<const FlagSpec> SlimeFlags() { return kFlags; }

}  // namespace flightplan
