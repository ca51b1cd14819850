// miles' command line: Megatron-LM's, with flags of its own and of slime, which it is a fork of, and values that miles
// puts in before Megatron checks them.
#pragma once

#include "absl/types/span.h"
#include "resolver/plan/reading.h"
#include "resolver/render/launch.h"

namespace flightplan {

// What miles sets stands among the knobs with Origin::kUpstream, as slime's does.
ParseResult ParseMiles(absl::Span<const Argument> args, const Environment& env);

// A launch on the GPUs that its rollouts use too, with adapters where the plan trains them.
Launch RenderMiles(const RenderInput& input);

}  // namespace flightplan
