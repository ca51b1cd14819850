// What the readers of Bridge's spellings say alike. Internal to its folder.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "resolver/plan/reading.h"

namespace flightplan {

inline constexpr size_t kNamedInNote = 6;  // of names or statements

// What stands behind the last dot. Views `dotted`.
inline absl::string_view LastPart(absl::string_view dotted) { return dotted.substr(dotted.rfind('.') + 1); }

// input.not-judged; of `seen` at most so many bytes.
ParseFinding NotJudgedNote(const SourcePosition& at, const std::string& seen, std::string needs, size_t most_bytes);

}  // namespace flightplan
