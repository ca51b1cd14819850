// A stack that nobody has: Megatron-Core's config classes behind words of the form knob=value.
#include "resolver/plan/stack.h"

#include "absl/strings/match.h"

namespace flightplan {
namespace {

constexpr Phase kPhases[] = {Phase::kModel, Phase::kModelMla, Phase::kBuild, Phase::kMesh, Phase::kHardware};
constexpr int kReleases[] = {kMain};

bool IsLaunch(absl::string_view script, absl::Span<const Argument>) { return absl::EndsWith(script, "/toy.py"); }

}  // namespace

extern const Stack kToyStack;
const Stack kToyStack = {
    .target = Target{17},
    .name = "toy",
    .rank = 99,
    .marks = {.launch = IsLaunch, .yaml = "toy_version:"},
    .releases = kReleases,
    .core_release = [](int) { return kMain; },
    .phases = kPhases,
};

}  // namespace flightplan
