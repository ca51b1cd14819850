#include "resolver/stacks/vime/flags.h"

namespace flightplan {
namespace {

constexpr FlagForm kValue = FlagForm::kValue, kListOrEmpty = FlagForm::kListOrEmpty;
constexpr FlagForm kSwitchOn = FlagForm::kSwitchOn, kSwitchOff = FlagForm::kSwitchOff;
constexpr ValueType kString = ValueType::kString, kInt = ValueType::kInt;

constexpr FlagSpec kFlags[] = {
    {"--advantage-estimator",
     {},
     kValue,
     kString,
     "grpo|gspo|cispo|reinforce_plus_plus|reinforce_plus_plus_baseline|ppo"},
    {"--custom-advantage-function-path", {}, kValue, kString},
    {"--custom-delta-pre-push-path", {}, kValue, kString},
    // A draft model that learns beside the policy (examples/dspark).
    {"--dspark-block-size", {}, kValue, kInt},
    {"--dspark-ce-loss-alpha"},
    {"--dspark-confidence-head-alpha"},
    {"--dspark-draft-loss-weight"},
    {"--dspark-freeze-policy", {}, kSwitchOn},
    {"--dspark-intermediate-size", {}, kValue, kInt},
    {"--dspark-l1-loss-alpha"},
    {"--dspark-loss-decay-gamma"},
    {"--dspark-markov-head-type", {}, kValue, kString},
    {"--dspark-markov-rank", {}, kValue, kInt},
    {"--dspark-mask-token-id", {}, kValue, kInt},
    {"--dspark-num-anchors", {}, kValue, kInt},
    {"--dspark-num-draft-layers", {}, kValue, kInt},
    {"--dspark-pretrained-model", {}, kValue, kString},
    {"--dspark-target-layer-ids", {}, kValue, kString},
    {"--freeze-params-name-list", {}, kListOrEmpty, kString},
    {"--load-forge-rollout-data", {}, kValue, kString},
    {"--loss-mask-type", {}, kValue, kString, "qwen|qwen3|qwen3_5|distill_qwen"},
    {"--megatron-config-path", {}, kValue, kString},
    {"--megatron-to-hf-mode", {}, kValue, kString, "raw|bridge"},
    {"--mooncake-store-init-kwargs", {}, kValue, kString},
    {"--no-vllm-weight-sync-packed", {}, kSwitchOff},
    {"--only-train-params-name-list", {}, kListOrEmpty, kString},
    {"--opd-teacher-model", {}, kValue, kString},
    {"--opd-type", {}, kValue, kString, "vllm|megatron"},
    {"--prefill-num-servers", {}, kValue, kInt},
    {"--qwen-gdn-backend", {}, kValue, kString, "fla|flashqla"},
    {"--record-memory-history", {}, kSwitchOn},
    {"--rollout-data-transport", {}, kValue, kString, "object-store|nixl"},
    {"--train-backend", {}, kValue, kString, "megatron"},
    {"--train-memory-margin-bytes", {}, kValue, kInt},
    {"--transfer-backend", {}, kValue, kString, "ray|mooncake_store"},
    {"--update-weight-delta-dir", {}, kValue, kString},
    {"--update-weight-delta-keep-files", {}, kSwitchOn},
    {"--update-weight-disk-keep-files", {}, kSwitchOn},
    {"--update-weight-encoding", {}, kValue, kString, "indices|deltas|deltas_zstd"},
    {"--update-weight-mode", {}, kValue, kString, "full|delta"},
    {"--update-weight-transport", {}, kValue, kString, "nccl|disk"},
    {"--use-gated-attention", {}, kSwitchOn},  // of the patch of Megatron-LM that it has from slime
    {"--use-stateless-adam", {}, kSwitchOn},
};

}  // namespace

absl::Span<const FlagSpec> VimeFlags() { return kFlags; }

}  // namespace flightplan
