// vime: train.py and train_async.py, which give their words to Megatron-LM's own parser and checks
// (vllm-project/vime@035f98340 vime/utils/arguments.py). A fork of slime whose rollouts vLLM makes.
#include "resolver/plan/stack.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "resolver/stacks/rollout_marks.h"

namespace flightplan {
namespace {

// A number of its own: no code outside of this folder asks for it.
constexpr Target kVime{9};

// docker/Dockerfile pins Megatron-LM's commit 1dcf0dafa, as slime does: 0.16.0rc0.
constexpr int kPinnedCore = 16;

constexpr int kReleases[] = {kMain};

// In a checkout that is called so, or with a function of its package, or with flags of its engine.
bool IsLaunch(absl::string_view script, absl::Span<const Argument> args) {
  if (!MakesRollouts(script, args)) return false;
  if (absl::StartsWith(script, "vime/") || absl::StrContains(script, "/vime/")) return true;
  return std::any_of(args.begin(), args.end(), [](const Argument& arg) {
    return absl::StartsWith(arg.text, "--vllm-") || absl::StartsWith(arg.text, "vime.");
  });
}

}  // namespace

extern const Stack kVimeStack;
const Stack kVimeStack = {
    .target = kVime,
    .name = "vime",
    .rank = 8,
    .own_source = "vime:",
    .command_line = true,
    .packs = true,
    .own_workers = true,
    .exports_to_engine = true,
    .marks = {.order = -2, .launch = IsLaunch, .looks_like = "slime"},
    .releases = kReleases,
    .core_release = [](int) { return kPinnedCore; },
    .phases = kRolloutPhases,
};

}  // namespace flightplan
