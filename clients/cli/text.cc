#include "clients/cli/text.h"

#include <utf8proc.h>

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace flightplan::cli {
namespace {

// The next character of `text`, and how many bytes it takes. A stray byte stands for itself.
struct Character {
  char32_t code = 0;
  size_t size = 1;
  bool valid = true;
};

Character Next(absl::string_view text) {
  utf8proc_int32_t code = 0;
  const auto size = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                     static_cast<utf8proc_ssize_t>(text.size()), &code);
  if (size <= 0) return {static_cast<unsigned char>(text[0]), 1, false};
  return {static_cast<char32_t>(code), static_cast<size_t>(size), true};
}

// Unicode's own table. What a terminal does not know, and a control character that was let through, takes one cell.
int WidthOf(const Character& c) {
  if (!c.valid) return 1;
  const auto code = static_cast<utf8proc_int32_t>(c.code);
  const utf8proc_category_t category = utf8proc_category(code);
  const bool unknown = category == UTF8PROC_CATEGORY_CN || category == UTF8PROC_CATEGORY_CC;
  return unknown ? 1 : utf8proc_charwidth(code);
}

// Bytes of the longest prefix of at most `width` cells.
size_t PrefixOf(absl::string_view text, int width) {
  size_t bytes = 0;
  while (bytes < text.size()) {
    const Character c = Next(text.substr(bytes));
    width -= WidthOf(c);
    if (width < 0) break;
    bytes += c.size;
  }
  return bytes;
}

struct Replacement {
  char32_t code;
  char ascii;
};
constexpr Replacement kAscii[] = {{U'×', 'x'}, {U'…', '.'}, {U'█', '#'}, {U'░', '.'},  {U'–', '-'},  {U'—', '-'},
                                  {U'·', '*'}, {U'→', '>'}, {U'−', '-'}, {U'‘', '\''}, {U'’', '\''}, {U'“', '"'},
                                  {U'”', '"'}, {U'µ', 'u'}, {U'±', '~'}, {U'≤', '<'},  {U'≥', '>'}};

char AsciiOf(char32_t code) {
  for (const Replacement& row : kAscii) {
    if (row.code == code) return row.ascii;
  }
  return '?';
}

}  // namespace

int DisplayWidth(absl::string_view text) {
  int width = 0;
  while (!text.empty()) {
    if (absl::StartsWith(text, "\x1b[")) {  // a colour code of Terminal::Paint
      text.remove_prefix(std::min(text.find('m'), text.size() - 1) + 1);
      continue;
    }
    const Character c = Next(text);
    width += WidthOf(c);
    text.remove_prefix(c.size);
  }
  return width;
}

std::string Cut(absl::string_view text, int width, absl::string_view ellipsis) {
  if (DisplayWidth(text) <= width) return std::string(text);
  const int room = width - DisplayWidth(ellipsis);
  if (room <= 0) return std::string(text.substr(0, PrefixOf(text, width)));
  absl::string_view kept = text.substr(0, PrefixOf(text, room));
  while (!kept.empty() && kept.back() == ' ') kept.remove_suffix(1);
  return absl::StrCat(kept, ellipsis);
}

std::vector<std::string> Wrap(absl::string_view text, int width) {
  if (width < 1) width = 1;
  std::vector<std::string> lines;
  while (DisplayWidth(text) > width) {
    const size_t most = PrefixOf(text, width);
    // A space may stand right behind the last cell.
    size_t cut = text.substr(0, most + 1).rfind(' ');
    size_t next = cut == absl::string_view::npos ? most : cut + 1;
    if (cut == absl::string_view::npos || cut == 0) {
      const size_t comma = text.substr(0, most).rfind(',');
      cut = next = comma == absl::string_view::npos || comma == 0 ? std::max<size_t>(most, 1) : comma + 1;
    }
    lines.emplace_back(text.substr(0, cut));
    text.remove_prefix(next);
  }
  if (!text.empty() || lines.empty()) lines.emplace_back(text);
  return lines;
}

std::vector<std::string> WrapParts(const std::vector<std::string>& parts, absl::string_view separator, int width) {
  std::vector<std::string> lines;
  for (const std::string& part : parts) {
    if (!lines.empty() && DisplayWidth(lines.back()) + DisplayWidth(separator) + DisplayWidth(part) <= width) {
      absl::StrAppend(&lines.back(), separator, part);
      continue;
    }
    for (std::string& line : Wrap(part, width)) lines.push_back(std::move(line));
  }
  return lines;
}

std::string Harmless(absl::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Character c = Next(text);
    const bool control = c.valid && (c.code < 0x20 || (c.code >= 0x7f && c.code < 0xa0));
    if (c.code == '\n' || c.code == '\t') {
      out += ' ';
    } else if (control || !c.valid) {
      out += '?';
    } else {
      out.append(text.data(), c.size);
    }
    text.remove_prefix(c.size);
  }
  return out;
}

std::string Quoted(absl::string_view text) { return absl::StrCat("'", Cut(Harmless(text), 60, "..."), "'"); }

std::string ToAscii(absl::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Character c = Next(text);
    if (c.valid && c.code < 0x80) {
      out += static_cast<char>(c.code);
    } else {
      out += c.valid ? AsciiOf(c.code) : '?';
    }
    text.remove_prefix(c.size);
  }
  return out;
}

bool ContainsWord(absl::string_view text, absl::string_view word) {
  return absl::StrContains(absl::AsciiStrToLower(text), absl::AsciiStrToLower(word));
}

std::string ParameterText(int64_t count) {
  const bool billions = count >= 1'000'000'000;
  const double number = static_cast<double>(count) / (billions ? 1e9 : 1e6);
  const char* unit = billions ? "B" : "M";
  return number < 100 ? absl::StrFormat("%.1f %s", number, unit) : absl::StrFormat("%.0f %s", number, unit);
}

std::string GibNumber(double bytes) {
  const double gib = bytes / 1073741824.0;
  if (gib >= 10 || gib == 0) return absl::StrFormat("%.0f", gib);
  return gib >= 1 ? absl::StrFormat("%.1f", gib) : absl::StrFormat("%.2f", gib);
}

std::string PercentText(double ratio) {
  const double percent = ratio * 100;
  return std::fabs(percent) >= 9.95 || percent == 0 ? absl::StrFormat("%.0f %%", percent)
                                                    : absl::StrFormat("%.1f %%", percent);
}

}  // namespace flightplan::cli
