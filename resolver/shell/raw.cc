#include "resolver/shell/raw.h"

#include <algorithm>
#include <cctype>

#include "absl/strings/match.h"
#include "resolver/base/work.h"

namespace flightplan {
namespace {

// Behind a backslash and what it quotes.
size_t BehindEscape(absl::string_view text, size_t at) { return std::min(at + 2, text.size()); }

// One byte, or the whole part that starts with it.
size_t EndOfPart(absl::string_view text, size_t at, int depth) {
  switch (text[at]) {
    case '\\':
      return BehindEscape(text, at);
    case '\'':
      return EndOfSingleQuotes(text, at);
    case '"':
      return EndOfDoubleQuotes(text, at, depth + 1);
    case '$':
      if (at + 1 < text.size() && text[at + 1] == '\'') return EndOfEscapedQuotes(text, at + 1);
      return EndOfReference(text, at, depth + 1);
    case '`':
      return EndOfReference(text, at, depth + 1);
    default:
      return at + 1;
  }
}

// Whether the class that starts behind '[' holds the byte; `end` becomes the offset behind its ']', npos: no class.
bool ClassHolds(absl::string_view pattern, size_t at, char c, size_t* end) {
  const bool negated = at < pattern.size() && (pattern[at] == '!' || pattern[at] == '^');
  if (negated) ++at;
  bool held = false;
  for (size_t first = at; at < pattern.size(); ++at) {
    if (pattern[at] == ']' && at > first) {
      *end = at + 1;
      return held != negated;
    }
    if (at + 2 < pattern.size() && pattern[at + 1] == '-' && pattern[at + 2] != ']') {
      held = held || (pattern[at] <= c && c <= pattern[at + 2]);
      at += 2;
    } else {
      held = held || pattern[at] == c;
    }
  }
  *end = absl::string_view::npos;
  return false;
}

// Whether the first item of a pattern, which is no '*', stands for the byte; `end` becomes the offset behind it.
// `steps`: grows by what a class has been looked through for, to the pattern's end where it is none.
bool ItemMatches(absl::string_view pattern, size_t at, char c, size_t* end, size_t* steps) {
  *end = at + 1;
  if (pattern[at] == '?') return true;
  if (pattern[at] == '[') {
    size_t behind = 0;
    const bool held = ClassHolds(pattern, at + 1, c, &behind);
    *steps += std::min(behind, pattern.size()) - at;
    if (behind != absl::string_view::npos) {
      *end = behind;
      return held;
    }
  }
  return pattern[at] == c;
}

}  // namespace

size_t EndOfShellPart(absl::string_view text, size_t at) { return EndOfPart(text, at, 0); }

size_t EndOfSingleQuotes(absl::string_view text, size_t at) {
  const size_t close = text.find('\'', at + 1);
  return close == absl::string_view::npos ? text.size() : close + 1;
}

size_t EndOfEscapedQuotes(absl::string_view text, size_t at) {
  for (++at; at < text.size() && text[at] != '\'';) at = text[at] == '\\' ? BehindEscape(text, at) : at + 1;
  return std::min(at + 1, text.size());
}

char EscapedByte(absl::string_view text, size_t* at) {
  constexpr absl::string_view kLetters = "abeEfnrtv\\'\"?", kBytes = "\a\b\x1b\x1b\f\n\r\t\v\\'\"?";
  const char c = text[(*at)++];
  if (c != '\\' || *at >= text.size()) return c;
  const char next = text[*at];
  if (const size_t letter = kLetters.find(next); letter != absl::string_view::npos) {
    ++*at;
    return kBytes[letter];
  }
  const bool hex = next == 'x';
  size_t digit = *at + (hex ? 1 : 0);
  const size_t most = digit + (hex ? 2 : 3);
  const auto is_digit = [hex](char d) {
    return hex ? std::isxdigit(static_cast<unsigned char>(d)) != 0 : d >= '0' && d <= '7';
  };
  int value = 0;
  const size_t first = digit;
  for (; digit < std::min(most, text.size()) && is_digit(text[digit]); ++digit) {
    const char d = text[digit];
    value = value * (hex ? 16 : 8) + (d <= '9' ? d - '0' : (d | 0x20) - 'a' + 10);
  }
  if (digit == first) return c;
  *at = digit;
  return static_cast<char>(value);
}

size_t EndOfDoubleQuotes(absl::string_view text, size_t at, int depth) {
  for (++at; at < text.size() && text[at] != '"';) {
    const char c = text[at];
    const bool quote = c == '$' && at + 1 < text.size() && text[at + 1] == '\'';  // both mean themselves here
    const bool part = c == '\\' || ((c == '$' || c == '`') && !quote && depth < kMaxShellNesting);
    at = part ? EndOfPart(text, at, depth) : at + 1;
  }
  return std::min(at + 1, text.size());
}

size_t EndOfReference(absl::string_view text, size_t at, int depth) {
  if (text[at] == '`') {
    for (++at; at < text.size() && text[at] != '`';) at = text[at] == '\\' ? BehindEscape(text, at) : at + 1;
    return std::min(at + 1, text.size());
  }
  ++at;
  if (at >= text.size()) return at;
  if (text[at] == '(') return EndOfBrackets(text, at, ')', depth);
  if (text[at] == '{') return EndOfBrackets(text, at, '}', depth);
  if (IsShellNameStart(text[at])) return EndOfName(text, at);
  return at;
}

// Who looks for the end need not go there: what has none is looked through again at the next word that may start one.
size_t EndOfBrackets(absl::string_view text, size_t at, char close, int depth) {
  const size_t begin = at;
  const char open = text[at];
  int inside = 0;
  do {
    if (text[at] == open && (open != '{' || inside == 0)) {
      ++inside;
      ++at;
    } else if (text[at] == close) {
      --inside;
      ++at;
    } else {
      at = depth < kMaxShellNesting ? EndOfPart(text, at, depth) : at + 1;
    }
  } while (at < text.size() && inside > 0);
  Work::Spend(at - begin);
  return at;
}

size_t EndOfWord(absl::string_view text, size_t at) {
  const size_t begin = at;
  while (at < text.size()) {
    const char c = text[at];
    if (IsShellBlank(c) || c == '\n') break;
    if (c == '\\' && at + 1 < text.size() && text[at + 1] == '\n') break;
    if (absl::StrContains(";&|()<>", c)) {
      // NAME=( items ) is one word.
      if (c != '(' || at == begin || text[at - 1] != '=') break;
      at = EndOfBrackets(text, at, ')');
      continue;
    }
    at = EndOfPart(text, at, 0);
  }
  return at;
}

bool IsShellBlank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
bool IsShellSpecial(char c) { return c != '\0' && absl::StrContains("@*#?$!-0123456789", c); }
bool IsShellNameStart(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool IsShellName(char c) { return IsShellNameStart(c) || std::isdigit(static_cast<unsigned char>(c)); }

bool IsVariableName(absl::string_view text) { return !text.empty() && EndOfName(text, 0) == text.size(); }

size_t EndOfBlanks(absl::string_view text, size_t at) {
  while (at < text.size() && IsShellBlank(text[at])) ++at;
  return at;
}

size_t EndOfDigits(absl::string_view text, size_t at) {
  while (at < text.size() && std::isdigit(static_cast<unsigned char>(text[at]))) ++at;
  return at;
}

size_t EndOfParameter(absl::string_view text, size_t at) {
  size_t end = EndOfName(text, at);
  if (end == at) end = EndOfDigits(text, at);
  return end == at && at < text.size() && IsShellSpecial(text[at]) ? at + 1 : end;
}

size_t EndOfName(absl::string_view text, size_t at) {
  if (at >= text.size() || !IsShellNameStart(text[at])) return at;
  while (at < text.size() && IsShellName(text[at])) ++at;
  return at;
}

bool MatchesGlob(absl::string_view pattern, absl::string_view text) {
  if (pattern.size() > kMaxGlobBytes || text.size() > kMaxGlobText) return pattern == text;
  // The place behind the last '*' and the text it has not yet taken: no more need be remembered to go back to.
  size_t star = absl::string_view::npos, taken = 0, p = 0, t = 0, steps = 0;
  while (t < text.size()) {
    size_t end = 0;
    ++steps;
    if (p < pattern.size() && pattern[p] == '*') {
      star = ++p;
      taken = t;
    } else if (p < pattern.size() && ItemMatches(pattern, p, text[t], &end, &steps)) {
      p = end;
      ++t;
    } else if (star != absl::string_view::npos) {
      p = star;
      t = ++taken;
    } else {
      break;
    }
  }
  Work::Spend(4 * steps);
  if (t < text.size()) return false;
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace flightplan
