// ROLL: a YAML of roles, each with a strategy; megatron_train builds Megatron-Core's model configuration with
// mcore_adapter (alibaba/ROLL@8eb27cc2 roll/distributed/strategy/megatron_strategy.py:113).
#include "resolver/plan/stack.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/match.h"
#include "resolver/base/path.h"
#include "resolver/plan/reading.h"

namespace flightplan {
namespace {

// A number of its own: no code outside of this folder asks for it.
constexpr Target kRoll{12};

// mcore_adapter/pyproject.toml:11 takes 0.15 to 0.18, the strategy imports router_replay of 0.16 on
// (megatron_strategy.py:35), and line 18 develops on 0.18.
constexpr int kDevelopedOnCore = 18;

// By the Megatron-Core below it.
constexpr int kReleases[] = {16, 17, kDevelopedOnCore, kMain};
constexpr Phase kPhases[] = {
    Phase::kParse, Phase::kModel, Phase::kModelMla, Phase::kDdp,      Phase::kOptimizer,
    Phase::kBuild, Phase::kMesh,  Phase::kSchedule, Phase::kHardware, Phase::kAdvice,
};

constexpr absl::string_view kEntryScripts[] = {"start_agentic_pipeline.py", "start_agentic_rollout_pipeline.py",
                                               "start_distill_pipeline.py", "start_distill_vl_pipeline.py",
                                               "start_dpo_pipeline.py",     "start_onpolicy_distill_pipeline.py",
                                               "start_rlvr_pipeline.py",    "start_rlvr_rollout_pipeline.py",
                                               "start_rlvr_vl_pipeline.py", "start_sft_pipeline.py"};

// The strategy builds its DDP and optimizer configurations without them (megatron_strategy.py:1154).
constexpr Knob kLeftOff[] = {Knob::optimizer_cpu_offload,
                             Knob::use_precision_aware_optimizer,
                             Knob::overlap_cpu_optimizer_d2h_h2d,
                             Knob::average_in_collective,
                             Knob::fp8_param_gather,
                             Knob::use_megatron_fsdp};

bool IsLaunch(absl::string_view script, absl::Span<const Argument> args) {
  const absl::string_view file = FileName(script);
  return std::find(std::begin(kEntryScripts), std::end(kEntryScripts), file) != std::end(kEntryScripts) &&
         std::any_of(args.begin(), args.end(),
                     [](const Argument& arg) { return absl::StartsWith(arg.text, "--config_"); });
}

// One for each expert, of a rank that top-k divides (mcore_adapter/adapters/lora_layer.py:450).
constexpr Stack::AdapterSwitch kAdapterSwitches[] = {{Knob::peft_share_expert_adapters, false},
                                                     {Knob::peft_normalize_moe_lora, true}};

}  // namespace

extern const Stack kRollStack;
const Stack kRollStack = {
    .target = kRoll,
    .name = "roll",
    .rank = 11,
    .own_source = "ROLL:",
    .entry_scripts = kEntryScripts,
    .vocabulary = "roll.path",
    .hf_models = true,
    .adapters = true,
    .lora = "mcore_lora",
    .adapter_switches = kAdapterSwitches,
    .own_workers = true,
    .left_off = kLeftOff,
    .marks = {.order = 0, .launch = IsLaunch, .yaml = "strategy_name: megatron_train"},
    .releases = kReleases,
    .core_release = [](int release) { return release == kMain ? kDevelopedOnCore : release; },
    .phases = kPhases,
};

}  // namespace flightplan
