// Megatron-Bridge: recipes, and overrides of their ConfigContainer.
#include "resolver/plan/stack.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "resolver/base/path.h"
#include "resolver/plan/reading.h"

namespace flightplan {
namespace {

// The Megatron-Core that a release pins (its 3rdparty/Megatron-LM).
int CoreOf(int bridge_release) {
  const auto* const at = std::find(kBridgeReleases.begin(), kBridgeReleases.end(), bridge_release);
  return at == kBridgeReleases.end() ? kMain : kBridgeCores[at - kBridgeReleases.begin()];
}

constexpr Phase kPhases[] = {
    Phase::kFlexBackend, Phase::kEnvVars,   Phase::kMixedPrecision, Phase::kCommOverlap, Phase::kContainerStart,
    Phase::kDdp,         Phase::kOptimizer, Phase::kModelPrepare,   Phase::kModel,       Phase::kModelMla,
    Phase::kContainer,   Phase::kProvide,   Phase::kBuild,          Phase::kMesh,        Phase::kSchedule,
    Phase::kHardware,    Phase::kAdvice,
};

constexpr absl::string_view kEntryScripts[] = {"run_recipe.py", "run_script.py", "setup_experiment.py"};

// Sections of Megatron-Bridge's ConfigContainer that its overrides begin with.
constexpr absl::string_view kSections[] = {
    "model.", "train.", "ddp.", "optimizer.", "comm_overlap.", "dataset.", "checkpoint.", "mixed_precision.", "dist."};

absl::string_view FlagOf(const Argument& arg) { return absl::string_view(arg.text).substr(0, arg.text.find('=')); }

bool IsOverride(absl::string_view text) {
  while (absl::ConsumePrefix(&text, "+")) {
  }
  return absl::StrContains(text, '=') &&
         std::any_of(std::begin(kSections), std::end(kSections),
                     [text](absl::string_view section) { return absl::StartsWith(text, section); });
}

bool IsLaunch(absl::string_view script, absl::Span<const Argument> args) {
  const absl::string_view file = FileName(script);
  if (absl::StrContains(script, "scripts/performance/")) return true;
  if (absl::StrContains(script, "loongforge/embodied/")) return false;  // whose configuration has such sections, too
  const bool overrides =
      std::any_of(args.begin(), args.end(), [](const Argument& arg) { return IsOverride(arg.text); });
  const bool recipe =
      std::any_of(args.begin(), args.end(), [](const Argument& arg) { return FlagOf(arg) == "--recipe"; });
  return overrides || (file == "run_recipe.py" && recipe);
}

}  // namespace

extern const Stack kMegatronBridgeStack;
const Stack kMegatronBridgeStack = {
    .target = Target::kMegatronBridge,
    .name = "megatron-bridge",
    .rank = 1,
    .own_source = "Megatron-Bridge",
    .container = true,
    .entry_scripts = kEntryScripts,
    .marks = {.order = 1, .launch = IsLaunch, .yaml = "_target_: megatron.bridge."},
    .release = &Environment::bridge_release,
    .releases = kBridgeReleases,
    .core_release = CoreOf,
    .phases = kPhases,
};

}  // namespace flightplan
