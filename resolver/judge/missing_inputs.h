// What a whole launch leaves out and its program asks for after the configuration was accepted: how long to train and
// the learning rate, the data; and the tokenizer, which it would choose itself.
#pragma once

#include <vector>

#include "resolver/judge/read_config.h"
#include "resolver/plan/environment.h"
#include "resolver/plan/finding.h"

namespace flightplan {

// `config`: effective values. Nothing where the launch does not show all of itself (a recipe, a file or a variable that
// is not there), where it is a part of one, and where another program reads it.
std::vector<Finding> MissingInputs(const Reading& reading, const Environment& env, const Config& config);

}  // namespace flightplan
