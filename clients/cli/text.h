// Text as a terminal shows it: widths in cells, cutting, wrapping, and figures for people.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "resolver/base/thousands.h"

namespace flightplan::cli {

// Cells that UTF-8 text takes: our own colour codes and combining marks 0, East Asian wide characters and emoji 2,
// everything else 1. A byte that is not UTF-8 counts as one.
int DisplayWidth(absl::string_view text);

// At most `width` cells; what does not fit is replaced by `ellipsis`.
std::string Cut(absl::string_view text, int width, absl::string_view ellipsis);

// Lines of at most `width` cells, broken at spaces and after commas; a longer word is broken where it must.
std::vector<std::string> Wrap(absl::string_view text, int width);

// Lines of at most `width` cells, broken only between the parts, where a part fits a line at all.
std::vector<std::string> WrapParts(const std::vector<std::string>& parts, absl::string_view separator, int width);

// Text of others (a file, a server) made harmless: control characters, which could drive the terminal, become '?',
// new lines and tabs become spaces.
std::string Harmless(absl::string_view text);

// 'text', harmless and of a length for a message.
std::string Quoted(absl::string_view text);

// For a terminal without UTF-8: one ASCII character per character, "×" as "x", "…" as ".", unknown ones as "?".
std::string ToAscii(absl::string_view text);

// ASCII letters of either case are the same. An empty word is in every text.
bool ContainsWord(absl::string_view text, absl::string_view word);

using flightplan::WithThousands;
std::string ParameterText(int64_t count);  // 671 B, 30.5 B, 560 M
std::string GibNumber(double bytes);       // 71, 4.2, 0.03
std::string PercentText(double ratio);     // 27 %, 3.4 %

}  // namespace flightplan::cli
