// NeMo-RL: a YAML with its chain of defaults, and Hydra's overrides of it; its policy trains with Megatron-Bridge's
// providers and Megatron-Core's config classes (NVIDIA-NeMo/RL@7ea279abf nemo_rl/models/megatron/setup.py:602).
#include "resolver/plan/stack.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "resolver/base/path.h"
#include "resolver/plan/reading.h"

namespace flightplan {
namespace {

// A number of its own: no code outside of this folder asks for it.
constexpr Target kNemoRl{7};

constexpr int kReleases[] = {kMain};
constexpr Phase kPhases[] = {
    Phase::kParse, Phase::kModel, Phase::kModelMla, Phase::kDdp,      Phase::kOptimizer,
    Phase::kBuild, Phase::kMesh,  Phase::kSchedule, Phase::kHardware, Phase::kAdvice,
};

constexpr absl::string_view kEntryScripts[] = {"run_distillation.py",
                                               "run_distillation_nemo_gym.py",
                                               "run_dpo.py",
                                               "run_grpo.py",
                                               "run_grpo_nemo_gym.py",
                                               "run_grpo_single_controller.py",
                                               "run_grpo_sliding_puzzle.py",
                                               "run_ppo.py",
                                               "run_rm.py",
                                               "run_sft.py",
                                               "run_vlm_grpo.py",
                                               "run_vlm_sft.py",
                                               "run_xtoken_off_policy_distillation.py"};

bool IsLaunch(absl::string_view script, absl::Span<const Argument> args) {
  const absl::string_view file = FileName(script);
  if (std::find(std::begin(kEntryScripts), std::end(kEntryScripts), file) == std::end(kEntryScripts)) return false;
  return std::any_of(args.begin(), args.end(), [](const Argument& arg) {
    absl::string_view word = arg.text;
    while (absl::ConsumePrefix(&word, "+")) {
    }
    return absl::StartsWith(word, "--config") || absl::StartsWith(word, "policy.") ||
           absl::StartsWith(word, "cluster.");
  });
}

}  // namespace

extern const Stack kNemoRlStack;
const Stack kNemoRlStack = {
    .target = kNemoRl,
    .name = "nemo-rl",
    .rank = 6,
    .own_source = "NeMo-RL:",
    .entry_scripts = kEntryScripts,
    .vocabulary = "nemo_rl.path",
    .before_word = "policy.",
    .hf_models = true,
    .adapters = true,
    .own_workers = true,
    .exports_to_engine = true,
    .marks = {.order = 0, .launch = IsLaunch, .yaml = "megatron_cfg:"},
    .releases = kReleases,
    // 3rdparty/Megatron-Bridge at 8c46dc425, whose Megatron-Core is its main branch's.
    .core_release = [](int) { return kMain; },
    .phases = kPhases,
};

}  // namespace flightplan
