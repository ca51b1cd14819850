// A model's architecture as knobs.
#pragma once

#include <utility>
#include <vector>

#include "resolver/plan/knob.h"
#include "resolver/plan/model.h"

namespace flightplan {

// What has to be written so that the target builds this model: the config classes' fields, and the command line's own
// words for what has no field. Knobs that the target's release lacks are among them; the caller leaves those out.
std::vector<std::pair<Knob, Value>> ModelKnobs(const ModelSpec& model);

}  // namespace flightplan
