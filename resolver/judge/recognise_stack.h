// Recognises the training stack of a launch from the program that it runs. A door sees every job of a cluster and must
// leave jobs of other programs alone, so the result is empty rather than a guess.
#pragma once

#include <optional>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "resolver/plan/environment.h"
#include "resolver/plan/reading.h"

namespace flightplan {

// Of a command: `script` is the Python file it runs, `args` what follows it. `text`: of the file that the command
// stands in, of which a comment (kStackComment) may name a fork whose launches look like the stack's.
std::optional<Target> RecogniseStack(absl::string_view script, absl::Span<const Argument> args,
                                     absl::string_view text = {});

// Of a YAML file: by text that only one stack's files have, as the classes in a dump of Megatron-Bridge's
// ConfigContainer; else by its keys, if all of them are one stack's.
std::optional<Target> RecogniseYaml(absl::string_view text);

}  // namespace flightplan
