// The plan itself as a file: every knob that is written, and the environment. YAML and JSON of the same content, in the
// order of the knob table, so that two plans can be compared line by line.
#pragma once

#include "resolver/render/launch.h"

namespace flightplan {

Launch RenderPlanYaml(const RenderInput& input);
Launch RenderPlanJson(const RenderInput& input);

}  // namespace flightplan
