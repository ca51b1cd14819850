// A launch of LoongForge beyond the configuration that its words make: what the model's file says again, and the parts
// of a vision-language model that it checks each on its own.
#pragma once

#include <utility>
#include <vector>

#include "resolver/engine/engine.h"
#include "resolver/plan/reading.h"

namespace flightplan {

// For Environment::model_file.
std::vector<std::pair<Knob, Value>> ModelFileOf(const ParseResult& parsed);

// Adds to `run`, which is of the language model, the errors that the model's other parts have and it does not.
void AddParts(const ParseResult& parsed, Environment env, RunResult* run);

}  // namespace flightplan
