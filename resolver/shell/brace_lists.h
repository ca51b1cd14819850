// Brace expansion, bash's first step: a{b,c} is ab and ac, {1..3} is 1, 2 and 3. Not ${...}, which is braces.cc.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "resolver/shell/state.h"

namespace flightplan {

// Whether the word, as written, may hold such a list: quick, and seldom wrongly true.
bool MayHoldBraceList(absl::string_view word);

// The words that it stands for, as written too; the word itself where there is no list in it. Nothing: they are more
// than `most`.
std::optional<std::vector<TracedText>> ExpandBraceLists(const TracedText& word, size_t most);

}  // namespace flightplan
