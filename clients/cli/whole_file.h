// Files that a command writes by name.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace flightplan::cli {

// Makes `path` hold `text`: writes it beside the file and then puts it in the file's place, so that a fault (a full
// disk) leaves what was there, never a part of `text`. Follows a link to its file, whose mode stays; a new file gets
// the usual mode. A device or a pipe, such as /dev/stdout, is written to directly. Errors are DATA_LOSS and say why the
// system refused.
absl::Status WriteWholeFile(const std::string& path, absl::string_view text);

}  // namespace flightplan::cli
