// What is UTF-8 and what is not: protobuf and JSON carry nothing else.
#pragma once

#include <cstddef>

#include "absl/strings/string_view.h"

namespace flightplan {

// Bytes of the character that starts `text`, which must not be empty; 0 when there is none. Overlong forms and
// surrogates are none.
size_t Utf8CharacterBytes(absl::string_view text);

// Bytes of `text` up to the first that belongs to no character; its size when all of it is UTF-8.
size_t Utf8PrefixBytes(absl::string_view text);

inline bool IsUtf8(absl::string_view text) { return Utf8PrefixBytes(text) == text.size(); }

}  // namespace flightplan
