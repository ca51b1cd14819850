// ms-swift: `megatron sft|pt|rlhf`, which builds Megatron-Core's config classes from arguments of its own
// (modelscope/ms-swift@3602360a5 swift/megatron/arguments/megatron_args.py:480).
#include "resolver/plan/stack.h"

#include <algorithm>
#include <iterator>

#include "resolver/plan/reading.h"

namespace flightplan {
namespace {

// A number of its own: no code outside of this folder asks for it.
constexpr Target kMsSwift{5};

// requirements/megatron.txt:2 takes 0.16 and later; docs/source_en/Megatron-SWIFT/Quick-start.md recommends 0.18.0.
constexpr int kRecommendedCore = 18;

// By the Megatron-Core below it.
constexpr int kReleases[] = {16, 17, kRecommendedCore, kMain};
constexpr Phase kPhases[] = {
    Phase::kParse, Phase::kModel, Phase::kModelMla, Phase::kDdp,      Phase::kOptimizer,
    Phase::kBuild, Phase::kMesh,  Phase::kSchedule, Phase::kHardware, Phase::kAdvice,
};

// swift/cli/_megatron/main.py:6; export trains nothing.
constexpr absl::string_view kCommands[] = {"megatron sft", "megatron pt", "megatron rlhf"};

// No argument of its sets it, and what its extra keywords reach is the model's config class, not the optimizer's.
constexpr Knob kLeftOff[] = {Knob::overlap_cpu_optimizer_d2h_h2d};

bool IsLaunch(absl::string_view script, absl::Span<const Argument>) {
  return std::find(std::begin(kCommands), std::end(kCommands), script) != std::end(kCommands);
}

// One for each expert (swift/megatron/arguments/megatron_args.py:460).
constexpr Stack::AdapterSwitch kAdapterSwitches[] = {{Knob::peft_share_expert_adapters, false}};

}  // namespace

extern const Stack kMsSwiftStack;
const Stack kMsSwiftStack = {
    .target = kMsSwift,
    .name = "ms-swift",
    .rank = 4,
    .own_source = "ms-swift:",
    .commands = kCommands,
    .vocabulary = "ms_swift.argument",
    .before_word = "--",
    .hf_models = true,
    .adapters = true,
    .lora = "mcore_lora",
    .adapter_switches = kAdapterSwitches,
    .packs = true,
    .predicts_beside_decoder = true,
    .left_off = kLeftOff,
    .marks = {.order = 0, .launch = IsLaunch},
    .releases = kReleases,
    .core_release = [](int release) { return release == kMain ? kRecommendedCore : release; },
    .phases = kPhases,
};

}  // namespace flightplan
