// Knobs that count only beside a switch.
#pragma once

#include "resolver/plan/config.h"

namespace flightplan {

// True if nothing reads the knob in this configuration, because what it belongs to is off.
bool IsIdle(Knob knob, const Config& config);

}  // namespace flightplan
