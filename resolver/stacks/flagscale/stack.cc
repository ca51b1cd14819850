// FlagScale: a YAML of an experiment over one of its train/ folder, whose values become the flags of a fork of
// Megatron-LM (flagos-ai/FlagScale@16a2dd5b5 flagscale/runner/runner_train.py:29).
#include "resolver/plan/stack.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "resolver/base/path.h"
#include "resolver/plan/reading.h"

namespace flightplan {
namespace {

// A number of its own: no code outside of this folder asks for it.
constexpr Target kFlagScale{11};

// third_party/Megatron-LM is 8479eb35f, 0.15.0rc5.
constexpr int kPinnedCore = 15;

constexpr int kReleases[] = {kMain};
constexpr Phase kPhases[] = {
    Phase::kParse, Phase::kCliValidate, Phase::kModel,    Phase::kModelMla, Phase::kDdp,    Phase::kOptimizer,
    Phase::kBuild, Phase::kMesh,        Phase::kSchedule, Phase::kHardware, Phase::kAdvice,
};

bool IsLaunch(absl::string_view script, absl::Span<const Argument> args) {
  const absl::string_view file = FileName(script);
  const auto says = [args](absl::string_view start) {
    return std::any_of(args.begin(), args.end(),
                       [start](const Argument& arg) { return absl::StartsWith(arg.text, start); });
  };
  return file == "run.py" && says("--config-path") && says("--config-name") && says("action=");
}

}  // namespace

extern const Stack kFlagscaleStack;
const Stack kFlagscaleStack = {
    .target = kFlagScale,
    .name = "flagscale",
    .rank = 10,
    .own_source = "FlagScale:",
    .command_line = true,
    .adapters = true,
    .marks = {.order = 0, .launch = IsLaunch, .yaml = "flagscale/train/train_gpt.py", .entry = true},
    .releases = kReleases,
    .core_release = [](int) { return kPinnedCore; },
    .phases = kPhases,
};

}  // namespace flightplan
