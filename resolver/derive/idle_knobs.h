// Knobs that count only beside a switch.
#pragma once

#include "resolver/plan/config.h"

namespace flightplan {

// True if nothing reads the knob in this configuration, because what it belongs to is off.
bool IsIdle(Knob knob, const Config& config);

// A model without experts, as far as the configuration says.
bool IsDense(const Config& config);
// The knob is of a class of configuration that the model has not: latent attention, or experts where it is dense.
bool IsOfAnotherModel(Knob knob, const Config& config, bool dense);

}  // namespace flightplan
