// ${NAME##pattern}, ${NAME/text/other}, ${NAME^^} and their kin: a value that is cut, replaced or respelled.
#pragma once

#include <optional>

#include "absl/strings/string_view.h"
#include "resolver/shell/state.h"

namespace flightplan {

// What becomes of each of the values. `operation` is all that stands behind the name, its references expanded: "##*/".
// Nothing: it is none that is followed.
std::optional<ShellWords> TransformShellWords(const ShellWords& values, absl::string_view operation);

}  // namespace flightplan
