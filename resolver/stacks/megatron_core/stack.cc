// Megatron-Core's config classes alone, as when they are built from Python.
#include "resolver/plan/stack.h"

namespace flightplan {
namespace {

constexpr Phase kPhases[] = {
    Phase::kModel,
    Phase::kModelMla,
};

}  // namespace

extern const Stack kMegatronCoreStack;
const Stack kMegatronCoreStack = {
    .target = Target::kCore,
    .name = "megatron-core",
    .rank = 3,
    .by_name = false,
    .releases = kCoreReleases,
    .core_release = [](int release) { return release; },
    .phases = kPhases,
};

}  // namespace flightplan
