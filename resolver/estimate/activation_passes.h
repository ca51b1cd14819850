// What an activation moves in memory.
#pragma once

#include "resolver/derive/activation.h"

namespace flightplan {

// What it reads and writes, by what one fused kernel does. `fused`: the stack computes it so where it has such a
// kernel; `routed`: of routed experts; `clamped`: of the clamped quick GEGLU, measured.
double ActivationPasses(Activation activation, bool fused, bool routed, double clamped);

}  // namespace flightplan
