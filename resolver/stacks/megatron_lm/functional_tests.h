// The model_config.yaml files of Megatron-LM's functional tests: MODEL_ARGS are a command line, ENV_VARS the variables
// that it runs with, as their script _run_training reads them (lines 60, 90 and 126 of it).
#pragma once

#include "absl/strings/string_view.h"
#include "resolver/base/yaml.h"
#include "resolver/plan/reading.h"

namespace flightplan {

// Whether a text looks like one.
bool IsFunctionalTest(absl::string_view text);

// `${NAME}` in a value is replaced by env.vars, by those of the file, or leaves the word unknown. Which program runs
// stands in the tests' recipes: a flag that the parser does not know is a warning here, since the program may add it.
ParseResult ParseFunctionalTest(const YamlNode& root, const Environment& env);

}  // namespace flightplan
