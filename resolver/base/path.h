// Names of files in settings and scripts, which nothing here opens.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace flightplan {

// `path` as it is meant in `folder`, in its plainest spelling: "a/b/../c.yaml" is "a/c.yaml". An absolute path stands
// for itself; what leads above the first folder stays.
std::string JoinedPath(absl::string_view folder, absl::string_view path);
inline std::string PlainPath(absl::string_view path) { return JoinedPath("", path); }

// What stands behind the last slash. Views `path`.
inline absl::string_view FileName(absl::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace flightplan
