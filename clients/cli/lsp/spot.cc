#include "clients/cli/lsp/spot.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace flightplan::cli {
namespace {

constexpr int kMaxParents = 32;  // keys above one

// What ends a word in a script beside blanks: quotes, parentheses, the end of a command.
bool EndsWord(char c) {
  return absl::ascii_isspace(static_cast<unsigned char>(c)) || absl::StrContains("\"'`();|&\\", c);
}

struct Extent {
  size_t begin = 0, end = 0;
  absl::string_view Of(absl::string_view text) const { return text.substr(begin, end - begin); }
};

Extent WordAt(absl::string_view text, size_t offset) {
  Extent word{offset, offset};
  while (word.begin > 0 && !EndsWord(text[word.begin - 1])) --word.begin;
  while (word.end < text.size() && !EndsWord(text[word.end])) ++word.end;
  return word;
}

Extent LineAt(absl::string_view text, size_t offset) {
  const size_t before = offset == 0 ? absl::string_view::npos : text.rfind('\n', offset - 1);
  const size_t after = text.find('\n', offset);
  return {before == absl::string_view::npos ? 0 : before + 1, after == absl::string_view::npos ? text.size() : after};
}

bool IsFlag(absl::string_view word) { return absl::StartsWith(word, "--") || absl::StartsWith(word, "-m"); }

// The word before `offset`, on its line or the one above: argument files have one word a line.
absl::string_view WordBefore(absl::string_view text, size_t offset) {
  int lines = 0;
  while (offset > 0 && EndsWord(text[offset - 1])) {
    if (text[offset - 1] == '\n' && ++lines > 1) return "";
    --offset;
  }
  return offset == 0 ? "" : WordAt(text, offset - 1).Of(text);
}

Spot WordSpot(absl::string_view text, size_t offset) {
  const Extent extent = WordAt(text, offset);
  const absl::string_view word = extent.Of(text);
  const size_t equals = word.find('=');
  Spot spot{Spot::Kind::kName, std::string(word), extent.begin, extent.end};
  if (equals != absl::string_view::npos) {
    spot.name = std::string(word.substr(0, equals));
    spot.end = extent.begin + equals;
    if (offset <= spot.end) return spot;
    return {Spot::Kind::kValue, spot.name, spot.end + 1, extent.end};
  }
  if (IsFlag(word)) return spot;
  const absl::string_view before = WordBefore(text, extent.begin);
  if (IsFlag(before) && !absl::StrContains(before, "=")) {
    return {Spot::Kind::kValue, std::string(before), extent.begin, extent.end};
  }
  return word.empty() ? Spot{Spot::Kind::kNothing, "", extent.begin, extent.end} : spot;
}

struct YamlLine {
  size_t indent = 0;
  Extent key{};
  Extent value{};
  bool has_key = false;
};

YamlLine ReadYamlLine(absl::string_view text, Extent line) {
  YamlLine read;
  size_t at = line.begin;
  while (at < line.end && (text[at] == ' ' || text[at] == '-')) ++at;
  read.indent = at - line.begin;
  read.key = {at, at};
  while (read.key.end < line.end && (absl::ascii_isalnum(static_cast<unsigned char>(text[read.key.end])) ||
                                     absl::StrContains("_.", text[read.key.end]))) {
    ++read.key.end;
  }
  read.has_key = read.key.end > at && read.key.end < line.end && text[read.key.end] == ':';
  read.value = {std::min(line.end, read.key.end + 1), line.end};
  if (const size_t comment = text.substr(0, line.end).find(" #", read.key.end); comment != absl::string_view::npos) {
    read.value.end = std::max(read.value.begin, comment);
  }
  while (read.value.begin < read.value.end && text[read.value.begin] == ' ') ++read.value.begin;
  while (read.value.end > read.value.begin &&
         absl::ascii_isspace(static_cast<unsigned char>(text[read.value.end - 1]))) {
    --read.value.end;
  }
  return read;
}

// "model.recompute_method": the key with those that it is indented under.
std::string PathOf(absl::string_view text, Extent line, const YamlLine& at) {
  std::string path(at.key.Of(text));
  size_t indent = at.indent;
  for (int parents = 0; indent > 0 && line.begin > 0 && parents < kMaxParents;) {
    line = LineAt(text, line.begin - 1);
    const YamlLine above = ReadYamlLine(text, line);
    if (!above.has_key || above.indent >= indent) continue;
    path = absl::StrCat(above.key.Of(text), ".", path);
    indent = above.indent;
    ++parents;
  }
  return path;
}

Spot YamlSpot(absl::string_view text, size_t offset) {
  const Extent line = LineAt(text, offset);
  const YamlLine at = ReadYamlLine(text, line);
  const std::string path = PathOf(text, line, at);
  if (offset <= at.key.end) {
    return {at.key.end > at.key.begin ? Spot::Kind::kName : Spot::Kind::kNothing, path, at.key.begin, at.key.end};
  }
  if (!at.has_key) return {Spot::Kind::kNothing, "", offset, offset};
  if (offset > at.value.end) return {Spot::Kind::kValue, path, offset, offset};
  return {Spot::Kind::kValue, path, std::min(offset, at.value.begin), at.value.end};
}

}  // namespace

Spot SpotAt(absl::string_view text, size_t offset, LaunchForm form) {
  offset = std::min(offset, text.size());
  return form == LaunchForm::kYaml ? YamlSpot(text, offset) : WordSpot(text, offset);
}

size_t MarkedEnd(absl::string_view text, size_t begin, LaunchForm form) {
  begin = std::min(begin, text.size());
  const Extent line = LineAt(text, begin);
  if (form == LaunchForm::kYaml) {
    const YamlLine at = ReadYamlLine(text, line);
    return at.has_key ? std::max(at.key.end, at.value.end) : std::max(begin, line.end);
  }
  size_t end = begin;
  while (end < line.end && !EndsWord(text[end])) ++end;
  const absl::string_view word = text.substr(begin, end - begin);
  if (!IsFlag(word) || absl::StrContains(word, "=")) return end;
  size_t next = end;
  while (next < line.end && (text[next] == ' ' || text[next] == '\t' || text[next] == '"')) ++next;
  if (next == end || next == line.end || EndsWord(text[next]) || text[next] == '-' || text[next] == '#') return end;
  while (next < line.end && !EndsWord(text[next])) ++next;
  return next;
}

}  // namespace flightplan::cli
