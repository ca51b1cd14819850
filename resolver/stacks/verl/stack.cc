// verl: Hydra overrides of three roles on the same GPUs, whose actor trains with Megatron-Core's config classes
// (verl-project/verl@1dda039b9 verl/workers/engine/megatron/transformer_impl.py:272).
#include "resolver/plan/stack.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "resolver/plan/knob.h"
#include "resolver/plan/reading.h"
#include "resolver/stacks/verl/words.h"

namespace flightplan {
namespace {

// A number of its own: no code outside of this folder asks for it.
constexpr Target kVerl{6};

// pyproject.toml:399, docker/Dockerfile.stable.vllm:20 and docker/Dockerfile.stable.sglang:11 install core_v0.18.0.
constexpr int kPinnedCore = 18;

// By the Megatron-Core that an image of its has: docker/rocm/README.md:100 (0.16), and of October 2025 core_v0.15.0.
// What verl itself does is its main branch's.
constexpr int kReleases[] = {15, 16, kPinnedCore, kMain};
constexpr Phase kPhases[] = {
    Phase::kParse, Phase::kModel, Phase::kModelMla, Phase::kDdp,      Phase::kOptimizer,
    Phase::kBuild, Phase::kMesh,  Phase::kSchedule, Phase::kHardware, Phase::kAdvice,
};

// Prediction layers, unless a launch asks for them in a word of verl's own (verl/utils/megatron_utils.py:1819).
constexpr Knob kLeftOff[] = {Knob::mtp_num_layers};

constexpr absl::string_view kCommands[] = {
    "-m verl.trainer.main_ppo", "-m verl.experimental.one_step_off_policy.main_ppo",
    "-m verl.experimental.fully_async_policy.fully_async_main", "-m verl.experimental.transfer_queue.main_ppo"};

// Recipes are modules of packages of their own, over its trainer.
constexpr absl::string_view kModuleKeys = "actor_rollout_ref.actor.megatron.";

// Its other trainings run without Megatron. Modules of other packages that have its keys run over its trainer.
bool IsLaunch(absl::string_view script, absl::Span<const Argument> args) {
  const bool keys = std::any_of(args.begin(), args.end(),
                                [](const Argument& arg) { return absl::StrContains(arg.text, kModuleKeys); });
  if (keys && absl::StartsWith(script, "-m ")) return true;
  if (std::find(std::begin(kCommands), std::end(kCommands), script) == std::end(kCommands)) return false;
  return std::any_of(args.begin(), args.end(), [](const Argument& arg) {
    return absl::StrContains(arg.text, "actor.megatron.") || absl::StrContains(arg.text, "ppo_megatron") ||
           absl::StrContains(arg.text, "strategy=megatron");
  });
}

}  // namespace

std::string VerlAddedKey(Knob knob) {
  for (const VerlMap& map : kVerlMaps) {
    if (map.of == Row(knob).section) return absl::StrCat("+actor_rollout_ref.actor.", map.path, Name(knob));
  }
  return "";
}

extern const Stack kVerlStack;
const Stack kVerlStack = {
    .target = kVerl,
    .name = "verl",
    .rank = 5,
    .own_source = "verl:",
    .commands = kCommands,
    .module_keys = kModuleKeys,
    .vocabulary = "verl.path",
    .before_word = "actor_rollout_ref.actor.",
    .added_key = VerlAddedKey,
    .hf_models = true,
    .adapters = true,
    .packs = true,
    .own_workers = true,
    .exports_to_engine = true,
    .left_off = kLeftOff,
    .marks = {.order = 0, .launch = IsLaunch},
    .releases = kReleases,
    .core_release = [](int release) { return release == kMain ? kPinnedCore : release; },
    .phases = kPhases,
};

}  // namespace flightplan
