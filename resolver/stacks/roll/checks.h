// What ROLL and mcore_adapter check of a role's settings before its model is built.
#pragma once

#include <string>

#include "resolver/plan/reading.h"
#include "resolver/stacks/layered_settings.h"
#include "resolver/stacks/written_knobs.h"

namespace flightplan {

// `role`: the key of the role that trains. `knobs`: what was read of it.
void CheckRoll(const LayeredSettings& settings, const std::string& role, const WrittenKnobs& knobs, ParseResult* out);

}  // namespace flightplan
