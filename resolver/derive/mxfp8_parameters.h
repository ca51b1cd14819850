// When MXFP8 parameters may stay without their 16-bit copies: they travel through the gradient buffer then.
#pragma once

#include "resolver/plan/config.h"

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

}  // namespace flightplan
