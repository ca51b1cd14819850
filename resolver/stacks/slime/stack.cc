// slime: train.py and train_async.py, which give their words to Megatron-LM's own parser and checks
// (THUDM/slime@624b824a8 slime/backends/megatron_utils/arguments.py:184).
#include "resolver/plan/stack.h"

#include "resolver/stacks/rollout_marks.h"

namespace flightplan {
namespace {

// A number of its own: no code outside of this folder asks for it.
constexpr Target kSlime{4};

// docker/Dockerfile:7 pins Megatron-LM's commit 1dcf0dafa, 0.16.0rc0, whose parser differs from 0.16.1's in 49 lines
// and from 0.17.1's in 832.
constexpr int kPinnedCore = 16;

constexpr int kReleases[] = {kMain};

}  // namespace

extern const Stack kSlimeStack;
const Stack kSlimeStack = {
    .target = kSlime,
    .name = "slime",
    .rank = 3,
    .own_source = "slime:",
    .command_line = true,
    .packs = true,
    .own_workers = true,
    .exports_to_engine = true,
    .marks = {.order = 0, .launch = MakesRollouts},
    .releases = kReleases,
    .core_release = [](int) { return kPinnedCore; },
    .phases = kRolloutPhases,
};

}  // namespace flightplan
