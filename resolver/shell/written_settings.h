// YAML that a script writes as a here-document.
#pragma once

#include <optional>
#include <string>

#include "resolver/shell/state.h"

namespace flightplan {

// What is not known stands there as a variable, which no reader of settings takes for a value. Nothing: it stands in a
// list or a map of one line, where that would be no YAML.
std::optional<std::string> AsSettings(const TracedText& written);

}  // namespace flightplan
