// miles: train.py, train_async.py and train_multi_lora_async.py, which give their words to the parser and checks of a
// copy of Megatron-LM (radixark/miles@31f1ca961 miles/utils/arguments.py:2676). A fork of slime.
#include "resolver/plan/stack.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/match.h"
#include "resolver/stacks/rollout_marks.h"

namespace flightplan {
namespace {

// A number of its own: no code outside of this folder asks for it.
constexpr Target kMiles{8};

// docker/Dockerfile:23 installs the branch miles-main of radixark/Megatron-LM, which at 2e64d788b is 0.16.0rc0 and
// whose parser differs from 0.16.1's in 128 lines and from 0.17.1's in 815.
constexpr int kPinnedCore = 16;

constexpr int kReleases[] = {kMain};

// In a checkout that is called so, or with a function of its package, or with a flag of its own that launches have.
bool IsLaunch(absl::string_view script, absl::Span<const Argument> args) {
  if (!MakesRollouts(script, args)) return false;
  if (absl::StartsWith(script, "miles/") || absl::StrContains(script, "/miles/")) return true;
  constexpr absl::string_view kOwn[] = {"--lora-",          "--multi-lora-",    "--target-modules",
                                        "--qkv-format",     "--use-miles-",     "--miles-",
                                        "--dumper-",        "--mini-ft-",       "--session-",
                                        "--fully-async",    "--indep-dp",       "--ft-components",
                                        "--use-session-",   "--tito-model",     "--use-mlflow",
                                        "--use-prometheus", "--offload-train-", "--update-weight-transfer-mode"};
  return std::any_of(args.begin(), args.end(), [&](const Argument& arg) {
    const absl::string_view word = arg.text;
    if (!absl::StartsWith(word, "--")) {
      return word == "fsdp" || absl::StartsWith(word, "miles.") || absl::StartsWith(word, "miles_plugins.");
    }
    return std::any_of(std::begin(kOwn), std::end(kOwn),
                       [word](absl::string_view own) { return absl::StartsWith(word, own); });
  });
}

// One for each expert (miles/utils/arguments.py:3118).
constexpr Stack::AdapterSwitch kAdapterSwitches[] = {{Knob::peft_share_expert_adapters, false}};

}  // namespace

extern const Stack kMilesStack;
const Stack kMilesStack = {
    .target = kMiles,
    .name = "miles",
    .rank = 7,
    .own_source = "miles:",
    .command_line = true,
    .adapters = true,
    .adapter_switches = kAdapterSwitches,
    .packs = true,
    .own_workers = true,
    .exports_to_engine = true,
    .marks = {.order = -1, .launch = IsLaunch, .looks_like = "slime"},
    .releases = kReleases,
    .core_release = [](int) { return kPinnedCore; },
    .phases = kRolloutPhases,
};

}  // namespace flightplan
