// The manual page flightplan(1), written from the commands' own tables.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "clients/cli/completion.h"

namespace flightplan::cli {

// In roff with the macros of man(7). `version`: of this program.
std::string ManPage(const std::vector<CommandPage>& pages, absl::string_view version);

}  // namespace flightplan::cli
