// A shell command over several lines of a terminal, from where it can be copied back into a shell.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace flightplan::cli {

// The words of a command on lines of about `width` cells that a shell reads as one: each but the last ends in a
// backslash, and no word is broken, however long.
std::vector<std::string> WrapShell(absl::string_view command, int width);

}  // namespace flightplan::cli
