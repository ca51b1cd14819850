// LoongForge: loongforge/train.py, over Baidu's fork of Megatron-Core 0.15 (LoongForge@c6275661).
#include "resolver/plan/stack.h"

#include "absl/strings/match.h"
#include "resolver/base/path.h"

namespace flightplan {
namespace {

constexpr int kReleases[] = {kMain};
constexpr Phase kPhases[] = {
    Phase::kParse,     Phase::kLoongForge, Phase::kCliValidate, Phase::kModel,    Phase::kModelMla, Phase::kDdp,
    Phase::kOptimizer, Phase::kBuild,      Phase::kMesh,        Phase::kSchedule, Phase::kHardware, Phase::kAdvice,
};

// loongforge/train.py, wherever the checkout is; loongforge/embodied/train.py is another program.
bool IsLaunch(absl::string_view script, absl::Span<const Argument>) {
  return absl::StrContains(script, "loongforge") && !absl::StrContains(script, "/embodied/") &&
         absl::StartsWith(FileName(script), "train");
}

}  // namespace

extern const Stack kLoongforgeStack;
const Stack kLoongforgeStack = {
    .target = Target::kLoongForge,
    .name = "loongforge",
    .rank = 2,
    .own_source = "Loong",  // LoongForge, and Loong-Megatron under it
    .fork = true,
    .command_line = true,
    .model_files = true,
    .checkout = {.variable = "LOONGFORGE_PATH",
                 .path = "/workspace/LoongForge",
                 .source = "baidu-baige/LoongForge@c6275661 docker/Dockerfile:22"},
    .adapters = true,
    .marks = {.order = 0, .launch = IsLaunch, .yaml = "_target_: loongforge.models.", .entry = true},
    .releases = kReleases,
    .core_release = [](int) { return kLoongForgeCore; },
    .phases = kPhases,
};

}  // namespace flightplan
