// Primus: a YAML of modules, whose trainer for Megatron puts the values into Megatron-LM's parsed arguments and runs
// its checks (AMD-AGI/Primus@fd1eeabb primus/backends/megatron/argument_builder.py:130).
#include "resolver/plan/stack.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/match.h"
#include "resolver/plan/reading.h"
#include "resolver/stacks/primus/words.h"

namespace flightplan {
namespace {

// A number of its own: no code outside of this folder asks for it.
constexpr Target kPrimus{10};

// third_party/Megatron-LM is d3528a213, the commit that release 0.17 branched off.
constexpr int kPinnedCore = 17;

constexpr int kReleases[] = {kMain};
constexpr Phase kPhases[] = {
    Phase::kParse, Phase::kCliValidate, Phase::kModel,    Phase::kModelMla, Phase::kDdp,    Phase::kOptimizer,
    Phase::kBuild, Phase::kMesh,        Phase::kSchedule, Phase::kHardware, Phase::kAdvice,
};

// Behind runner/primus-cli and its modes, which start primus/cli/main.py with them.
constexpr absl::string_view kCommands[] = {"train pretrain", "train posttrain"};

bool IsLaunch(absl::string_view script, absl::Span<const Argument> args) {
  const bool command = std::find(std::begin(kCommands), std::end(kCommands), script) != std::end(kCommands);
  return (command || absl::EndsWith(script, "primus/cli/main.py")) &&
         std::any_of(args.begin(), args.end(), [](const Argument& arg) { return NamesExperiment(arg.text); });
}

}  // namespace

extern const Stack kPrimusStack;
const Stack kPrimusStack = {
    .target = kPrimus,
    .name = "primus",
    .rank = 9,
    .own_source = "Primus:",
    .command_line = true,
    .commands = kCommands,
    .marks = {.order = 0, .launch = IsLaunch, .yaml = "framework: megatron\n", .entry = true},
    .releases = kReleases,
    .core_release = [](int) { return kPinnedCore; },
    .phases = kPhases,
};

}  // namespace flightplan
