// Words of a launch in the form that their stack reads.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "resolver/judge/read_config.h"
#include "resolver/plan/environment.h"
#include "resolver/plan/reading.h"
#include "resolver/stacks/input_format.h"

namespace flightplan {

// What is not known of the recipe that a launch of Bridge starts from; `recipe` is empty where none of it is.
std::string BesideTheRecipe(absl::string_view recipe);

// What arguments alone do not say.
void NoteWhatIsElsewhere(absl::Span<const Argument> args, absl::string_view format, const Environment& env,
                         Reading* reading);

// `script`: the Python file that a shell script gives the words to; empty: they come alone. `over_defaults`: as in
// LaunchWords.
void ReadArguments(std::vector<Argument> args, absl::string_view script, bool over_defaults, const InputFormat& format,
                   const Environment& env, Reading* reading);

}  // namespace flightplan
