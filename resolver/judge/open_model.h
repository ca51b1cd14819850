// What a launch leaves to a recipe, or to a model, that is not known here: no value of ours stands for it.
#pragma once

#include "resolver/judge/knowledge.h"
#include "resolver/plan/config.h"
#include "resolver/plan/environment.h"
#include "resolver/plan/knob.h"
#include "resolver/render/launch.h"

namespace flightplan {

// The knob's value stands there, so that the default of the stack's class is not what runs.
bool LeftOpen(Knob knob, const Environment& env, const Config& config, const Knowledge& knowledge);
// The same of the whole model: not even its width is said.
bool ModelLeftOpen(const Environment& env, const Config& config, const Knowledge& knowledge);

// Asks for the sizes that a command line cannot start without, where `config` has none.
void AskForSizes(const Environment& env, const Config& config, Launch* launch);

}  // namespace flightplan
