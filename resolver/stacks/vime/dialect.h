// vime's command line: Megatron-LM's, with flags of its own and of slime, which it is a fork of with vLLM for its
// rollouts, and values that vime puts in before Megatron checks them.
#pragma once

#include "absl/types/span.h"
#include "resolver/plan/reading.h"
#include "resolver/render/launch.h"

namespace flightplan {

// What vime sets stands among the knobs with Origin::kUpstream, as slime's does.
ParseResult ParseVime(absl::Span<const Argument> args, const Environment& env);

// A launch on the GPUs that its rollouts use too.
Launch RenderVime(const RenderInput& input);

}  // namespace flightplan
