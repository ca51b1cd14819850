#include "resolver/stacks/flagscale/flags.h"

namespace flightplan {
namespace {

using K = Knob;

constexpr FlagForm kValue = FlagForm::kValue, kList = FlagForm::kList, kListOrEmpty = FlagForm::kListOrEmpty;
constexpr FlagForm kSwitchOn = FlagForm::kSwitchOn;
constexpr ValueType kString = ValueType::kString, kInt = ValueType::kInt, kFloat = ValueType::kFloat;

// As flagos-ai/FlagScale@3f81f7533 adds them (flagscale/backends/Megatron-LM/megatron/training/arguments.py.patch), by
// the function that does. Flags of Megatron-LM's that take more values there take any.
constexpr FlagSpec kFlags[] = {
    {"--tokenizer-type"},
    {"--distributed-backend"},
    {"--lr-decay-style", K::lr_decay_style},
    // _add_network_size_args, _add_vision_args, _add_mtp_args
    {"--multiple-of", {}, kValue, kInt},
    {"--hidden-dim-multiplier", {}, kValue, kFloat},
    {"--norm-init-weight", {}, kValue, kFloat},
    {"--qk-layernorm-hidden-dim", {}, kSwitchOn},
    {"--num-mtp-predictor", {}, kValue, kInt},
    {"--mtp-loss-coeff", {}, kValue, kFloat},
    // _add_training_args: a schedule, recompute that differs by stage and microbatch, batches that are left out
    {"--use-dualpipev", {}, kSwitchOn},
    {"--moe-fb-overlap", {}, kSwitchOn},
    {"--recompute-granularity-per-stage-micro-batch", {}, kListOrEmpty, kString},
    {"--recompute-method-per-stage-micro-batch", {}, kListOrEmpty, kString},
    {"--recompute-num-layers-per-stage-micro-batch", {}, kListOrEmpty, kString},
    {"--skip-samples-range", {}, kList, kInt},
    {"--skip-iters-range", {}, kList, kInt},
    // _add_hetero_args
    {"--enable-hetero", {}, kSwitchOn},
    {"--hetero-device-types", {}, kListOrEmpty, kString},
    {"--hetero-current-device-type", {}, kValue, kString},
    {"--hetero-pipeline-layer-split", {}, kListOrEmpty, kInt},
    {"--hetero-process-meshes", {}, kListOrEmpty, kInt},
    {"--expert-tensor-parallel-size-per-process-mesh", {}, kListOrEmpty, kInt},
    {"--hetero-use-cpu-communication", {}, kSwitchOn},
    // _add_distributed_args
    {"--standalone-embedding-stage", {}, kSwitchOn},
    {"--use-partial-reduce-for-shared-embedding", {}, kSwitchOn},
    {"--no-shared-fs", {}, kSwitchOn},
    // _add_peft_args
    {"--peft-type", {}, kValue, kString},
    {"--lora-target-modules", K::peft_target_modules, kListOrEmpty, kString},
    {"--lora-dim", K::peft_dim, kValue, kInt},
    {"--lora-alpha", K::peft_alpha, kValue, kInt},
    {"--lora-dropout", K::peft_dropout, kValue, kFloat},
    {"--lora-dropout-position", {}, kValue, kString, "pre|post"},
    {"--lora-in-init-method", {}, kValue, kString, "normal|kaiming|xavier|zero"},
    {"--lora-out-init-method", {}, kValue, kString, "normal|kaiming|xavier|zero"},
    // _add_regularization_args, _add_learning_rate_args
    {"--muon-matched-adamw-rms", {}, kValue, kFloat},
    {"--muon-momentum", {}, kValue, kFloat},
    {"--muon-ns-steps", {}, kValue, kInt},
    {"--no-muon-nesterov", {}, kSwitchOn},
    {"--lr-decay-stablelm2-cosine-samples", {}, kValue, kInt},
    {"--lr-decay-stablelm2-cosine-max-lr", {}, kValue, kFloat},
    {"--lr-decay-stablelm2-cosine-period-samples", {}, kValue, kInt},
    {"--lr-decay-stablelm2-rsqrt-samples", {}, kValue, kInt},
    {"--lr-decay-stablelm2-decay-samples", {}, kValue, kInt},
    {"--lr-decay-stablelm2-alpha", {}, kValue, kFloat},
    {"--lr-decay-stablelm2-beta", {}, kValue, kFloat},
    // _add_tokenizer_args, _add_data_args, _add_validation_args
    {"--special-tokens-file", {}, kValue, kString},
    {"--tokenizer-path", {}, kValue, kString},
    {"--extra-valid-data-path", {}, kListOrEmpty, kString},
    {"--extra-eval-interval", {}, kValue, kInt},
    {"--finetune-dataset-type", {}, kValue, kString, "CPT"},
    {"--apply-sft-dataset-separated-loss-mask-if-existed", {}, kSwitchOn},
    // _add_auto_skip_spiky_loss, _add_auto_tuner_args
    {"--auto-skip-spiky-loss", {}, kSwitchOn},
    {"--spiky-loss-threshold", {}, kValue, kFloat},
    {"--auto-tune", {}, kSwitchOn},
    // _add_checkpointing_args, _add_logging_args
    {"--rampup-save-interval", {}, kValue, kInt},
    {"--save-when-num-microbatches-change", {}, kSwitchOn},
    {"--load-hf", {}, kSwitchOn},
    {"--save-hf", {}, kSwitchOn},
    {"--hf-config-path", {}, kValue, kString},
    {"--wandb-mode", {}, kValue, kString, "online|offline|disabled"},
    {"--wandb-api-key", {}, kValue, kString},
    {"--wandb-log-model", {}, kSwitchOn},
    {"--wandb-log-model-interval", {}, kValue, kInt},
    // _add_transformer_engine_fl_args
    {"--use-transformer-engine-fl", {}, kSwitchOn},
    {"--disable-flag-gems-replace-torch", {}, kSwitchOn},
    {"--use-flag-gems-replace-torch", {}, kSwitchOn},
    {"--flag-gems-log-path", {}, kValue, kString},
    {"--flag-gems-unused", {}, kListOrEmpty, kString},
};

}  // namespace

absl::Span<const FlagSpec> FlagScaleFlags() { return kFlags; }

}  // namespace flightplan
