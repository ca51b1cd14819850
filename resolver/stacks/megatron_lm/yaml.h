// Megatron-LM's --yaml-cfg files: the arguments as one YAML map, those of the model under language_model and
// model_parallel. Upstream keeps every key it does not know without a word; we warn. And the files of its functional
// tests, which hold a command line (functional_tests.h).
#pragma once

#include "absl/strings/string_view.h"
#include "resolver/plan/reading.h"

namespace flightplan {

// `${NAME}` in a value is replaced by env.vars, as upstream does. A file that is no YAML map is one error.
ParseResult ParseMegatronLmYaml(absl::string_view text, const Environment& env);

// Whether a YAML file that no other stack knows may be such a file: at its root, or in its two groups, stand keys that
// Megatron-LM reads, and not more of others.
bool HasArgumentsOfMegatronLm(absl::string_view text);

}  // namespace flightplan
