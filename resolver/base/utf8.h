// Recognises UTF-8, because protobuf and JSON carry nothing else.
#pragma once

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace flightplan {

// Bytes of the character that starts `text`, which must not be empty; 0 when there is none. Overlong forms and
// surrogates are none.
size_t Utf8CharacterBytes(absl::string_view text);

// Bytes of `text` up to the first that belongs to no character; its size when all of it is UTF-8.
size_t Utf8PrefixBytes(absl::string_view text);

// The start of `text` in at most `most` bytes, without half a character at its end: text of a caller that goes into an
// answer is cut by this and nothing else, because protobuf and JSON refuse the half.
absl::string_view Utf8Prefix(absl::string_view text, size_t most);

// `text` in at most `most` bytes (3 at least); what was cut ends in "...".
std::string Utf8Clip(absl::string_view text, size_t most);

// `text` with "?" in place of each byte that belongs to no character: a file's name may hold any.
std::string Utf8Repaired(absl::string_view text);

inline bool IsUtf8(absl::string_view text) { return Utf8PrefixBytes(text) == text.size(); }

}  // namespace flightplan
