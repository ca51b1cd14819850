// Megatron-Bridge's configuration container as YAML: what ConfigContainer.to_yaml dumps (a `_target_` class in every
// section), or a hand-written file of the same sections that is merged over a recipe.
#pragma once

#include "absl/strings/string_view.h"
#include "resolver/plan/reading.h"

namespace flightplan {

// A file that is no YAML map is one error. In a dump every field of a class stands there, so a key that is not known
// counts as misspelt only where the known field near to it is missing; the others are named in one note.
ParseResult ParseBridgeYaml(absl::string_view text, const Environment& env);

// A file that is merged over a recipe: every key at the root is a section of the container, and most of the fields are
// known. Two make it more than chance.
bool IsBridgeYaml(absl::string_view text);

}  // namespace flightplan
