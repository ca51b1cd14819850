// What is asked of a launch that was converted.
#pragma once

#include "resolver/judge/convert_config.h"
#include "resolver/plan/environment.h"
#include "resolver/render/launch.h"

namespace flightplan {

// The converted launch as a question of its own: the script, in which a person's part stands as a variable, and of a
// container, whose script starts from a recipe that nobody knows here, the overrides. `open`: the model is the
// recipe's.
JudgeQuestion ConvertedQuestion(const ConvertQuestion& question, const Environment& to, const Launch& launch,
                                bool open);

}  // namespace flightplan
