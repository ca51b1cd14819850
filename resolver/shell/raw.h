// Finds where the parts of shell text end, whatever they mean: quotes, $(...), ${...}, whole words. A part without an
// end ends with the text. Nesting is followed kMaxShellNesting deep; beyond, brackets are plain bytes.
#pragma once

#include <cstddef>

#include "absl/strings/string_view.h"

namespace flightplan {

inline constexpr int kMaxShellNesting = 24;

// Each takes the offset of the first byte of the part and gives that behind its last.
size_t EndOfSingleQuotes(absl::string_view text, size_t at);
size_t EndOfEscapedQuotes(absl::string_view text, size_t at);  // at the quote of $'...'
size_t EndOfDoubleQuotes(absl::string_view text, size_t at, int depth = 0);
size_t EndOfReference(absl::string_view text, size_t at, int depth = 0);             // at '$' or '`'
size_t EndOfBrackets(absl::string_view text, size_t at, char close, int depth = 0);  // at '(', '{' or '['
size_t EndOfShellPart(absl::string_view text, size_t at);  // one byte, or what it quotes or refers to
// A word ends at a blank, a line's end, or one of ;&|()<>.
size_t EndOfWord(absl::string_view text, size_t at);

// The byte that stands at *at in $'...', where \t is a tab; *at becomes the place behind it.
char EscapedByte(absl::string_view text, size_t* at);

bool IsShellBlank(char c);      // space, tab, carriage return
bool IsShellNameStart(char c);  // of a variable
bool IsShellName(char c);       // within one
bool IsShellSpecial(char c);    // after a '$': @ * # ? $ ! - and digits
bool IsVariableName(absl::string_view text);

// Behind what stands at `at`; `at` itself where there is none.
size_t EndOfBlanks(absl::string_view text, size_t at);
size_t EndOfDigits(absl::string_view text, size_t at);
size_t EndOfName(absl::string_view text, size_t at);       // of a variable
size_t EndOfParameter(absl::string_view text, size_t at);  // what ${...} can name: a variable, 12, or a special sign

// Whether the text matches a pattern of *, ? and [...]. A longer one of either matches only what is spelled like it.
inline constexpr size_t kMaxGlobBytes = 128, kMaxGlobText = 4096;
bool MatchesGlob(absl::string_view pattern, absl::string_view text);

}  // namespace flightplan
