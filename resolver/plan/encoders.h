// Encoders of images or sound that a model has before its language model. The catalogue has the language model alone.
#pragma once

#include "resolver/plan/environment.h"
#include "resolver/plan/model.h"

namespace flightplan {

// Whether a launch of the stack builds any: Megatron-LM's own programs build the language model.
bool BuildsEncoders(const ModelSpec& model, const Environment& env);

}  // namespace flightplan
