// slime's command line: Megatron-LM's, with flags of its own, and values that slime puts in before Megatron checks
// them.
#pragma once

#include "absl/types/span.h"
#include "resolver/plan/reading.h"
#include "resolver/render/launch.h"

namespace flightplan {

// What slime sets stands among the knobs with Origin::kUpstream: before the caller's words what these replace, behind
// them what replaces these.
ParseResult ParseSlime(absl::Span<const Argument> args, const Environment& env);

// A launch on the GPUs that its rollouts use too. A microbatch is written as the tokens that it holds on a GPU.
Launch RenderSlime(const RenderInput& input);

}  // namespace flightplan
