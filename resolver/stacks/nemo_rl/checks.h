// What NeMo-RL refuses before its policy's model is built.
#pragma once

#include "resolver/plan/reading.h"
#include "resolver/stacks/nemo_rl/settings.h"

namespace flightplan {

// Adds its findings. Where files are missing, only what they cannot change is said.
void CheckNemoRl(const NemoSettings& settings, ParseResult* out);

}  // namespace flightplan
