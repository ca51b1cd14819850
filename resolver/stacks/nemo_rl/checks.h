// What NeMo-RL refuses before its policy's model is built.
#pragma once

#include "resolver/plan/reading.h"
#include "resolver/stacks/layered_settings.h"

namespace flightplan {

// Adds its findings. Where files are missing, only what they cannot change is said.
void CheckNemoRl(const LayeredSettings& settings, ParseResult* out);

}  // namespace flightplan
