// JSON text by RapidJSON: the one place where it is parsed, so that no text reads outside its tables or takes the
// stack.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "rapidjson/document.h"

namespace flightplan {

struct JsonFault {
  size_t offset = 0;  // in bytes
  std::string what;   // "Invalid value."
};

enum class JsonNumbers { kFinite, kAll };  // kAll: also NaN, Inf and Infinity, as Python writes them

// Arrays and objects inside each other. The parser keeps some 50 bytes of each that is open: of a text of brackets
// fifty times its size.
inline constexpr int kMaxJsonDepth = 100;

// Nothing: `document` holds what the text says. Text of any content, in UTF-8; a number is the integer that it writes,
// else the nearest double; one beyond doubles is a fault, as is one value deeper than kMaxJsonDepth.
// Values and names together are at most `most_values`: each takes some 60 bytes while it is read, "0," among them.
// Of members with one name the last is there, as Python's reader and Go's have it.
std::optional<JsonFault> ReadJson(absl::string_view text, JsonNumbers numbers, rapidjson::Document* document,
                                  size_t most_values = std::numeric_limits<size_t>::max());

// The text, which is UTF-8, as a string of JSON.
std::string JsonQuoted(absl::string_view text);

}  // namespace flightplan
