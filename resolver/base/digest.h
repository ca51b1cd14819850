// SHA-256, for revisions and answer digests. Not used for secrets.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace flightplan {

// 64 lower-case hexadecimal digits.
std::string Sha256Hex(absl::string_view text);

}  // namespace flightplan
