// When MXFP8 parameters may stay without their 16-bit copies: they travel through the gradient buffer then.
#pragma once

#include "resolver/plan/config.h"
#include "resolver/plan/stack.h"

namespace flightplan {

// Whether a launch may be told so. Where gradients and parameters do not travel beside the compute, releases before
// Megatron-Core 0.18 give NaN (field.mxfp8-gather-without-overlap); and both knobs must be ours to set.
inline bool MayGatherMxfp8(const Config& config) {
  using K = Knob;
  const auto on = [&](Knob knob) { return config.Get(knob).truthy(); };
  const auto open = [&](Knob knob) {
    return config.origin(knob) != Origin::kCaller && config.origin(knob) != Origin::kAbsent;
  };
  return on(K::overlap_grad_reduce) && on(K::overlap_param_gather) && !on(K::use_megatron_fsdp) &&
         open(K::fp8_param_gather) && open(K::reuse_grad_buf_for_mxfp8_param_ag);
}

inline bool InMxfp8(const Config& config) {
  return config.Get(Knob::fp8).truthy() && config.Get(Knob::fp8_recipe).text() == "mxfp8";
}

// Whether plans for this stack and release keep them so without being asked. Those that hand their weights on to a
// rollout engine leave it to the caller, and core 0.18 may save stale weights (field.mxfp8-gather-before-save).
inline bool PlansGatherMxfp8(const Environment& env) {
  const Stack& stack = StackOf(env);
  return stack.command_line && !stack.packs && env.core_release != 18;
}

// Upstream steps no optimizer on the host from MXFP8 parameters (mlm.opt-offload-fp8pg).
inline bool OffloadExcludesMxfp8Gather(const Environment& env) { return !StackOf(env).fork; }

}  // namespace flightplan
