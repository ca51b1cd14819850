// What some editors write in front of a text in UTF-8: no part of it.
#pragma once

#include "absl/strings/string_view.h"

namespace flightplan {

inline constexpr absl::string_view kByteOrderMark = "\xef\xbb\xbf";

}  // namespace flightplan
