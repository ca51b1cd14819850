#include "clients/cli/lsp/text_lines.h"

#include <algorithm>

#include "resolver/base/utf8.h"

namespace flightplan::cli {
namespace {

constexpr size_t kFourBytes = 4;  // of a character beyond U+FFFF, which UTF-16 writes as two units

// Bytes of the character at the front; 1 for what is none.
size_t CharacterBytes(absl::string_view text) { return std::max<size_t>(1, Utf8CharacterBytes(text)); }

}  // namespace

TextLines::TextLines(absl::string_view text) : text_(text), starts_{0} {
  for (size_t i = 0; i < text.size(); ++i) {
    if (EndsLine(i)) starts_.push_back(i + 1);
  }
}

bool TextLines::EndsLine(size_t at) const {
  const bool pair = text_[at] == '\r' && at + 1 < text_.size() && text_[at + 1] == '\n';
  return text_[at] == '\n' || (text_[at] == '\r' && !pair);
}

void TextLines::Replaced(absl::string_view text, size_t from, size_t to, size_t bytes) {
  text_ = text;
  // Whether a \r ends a line hangs on what follows it, so the byte before is looked at too.
  std::vector<size_t> fresh;
  for (size_t i = from == 0 ? 0 : from - 1; i < from + bytes; ++i) {
    if (EndsLine(i)) fresh.push_back(i + 1);
  }
  const auto first = std::lower_bound(starts_.begin() + 1, starts_.end(), from);
  const auto after = std::upper_bound(first, starts_.end(), to);
  for (auto start = after; start != starts_.end(); ++start) *start += bytes - (to - from);
  starts_.insert(starts_.erase(first, after), fresh.begin(), fresh.end());
}

absl::string_view TextLines::Line(size_t line) const {
  const size_t start = starts_[line];
  size_t end = line + 1 < starts_.size() ? starts_[line + 1] : text_.size();
  while (end > start && line + 1 < starts_.size() && (text_[end - 1] == '\n' || text_[end - 1] == '\r')) --end;
  return text_.substr(start, end - start);
}

size_t TextLines::OffsetOf(TextPosition position) const {
  if (position.line < 0) return 0;
  if (position.line >= static_cast<int64_t>(starts_.size())) return text_.size();
  const auto line = static_cast<size_t>(position.line);
  absl::string_view rest = Line(line);
  size_t offset = starts_[line];
  for (int64_t units = 0; !rest.empty();) {
    const size_t bytes = CharacterBytes(rest);
    units += bytes == kFourBytes ? 2 : 1;
    if (units > position.character) break;
    offset += bytes;
    rest.remove_prefix(bytes);
  }
  return offset;
}

TextPosition TextLines::PositionOf(size_t offset) const {
  offset = std::min(offset, text_.size());
  const auto after = std::upper_bound(starts_.begin(), starts_.end(), offset);
  const auto line = static_cast<size_t>(after - starts_.begin()) - 1;
  const absl::string_view before = Line(line).substr(0, offset - starts_[line]);
  return {static_cast<int64_t>(line), Utf16Units(before)};
}

int64_t Utf16Units(absl::string_view text) {
  int64_t units = 0;
  while (!text.empty()) {
    const size_t bytes = CharacterBytes(text);
    units += bytes == kFourBytes ? 2 : 1;
    text.remove_prefix(std::min(bytes, text.size()));
  }
  return units;
}

size_t OffsetOfPlace(absl::string_view text, int line, int column) {
  size_t start = 0;
  for (int at = 1; at < line; ++at) {
    const size_t end = text.find('\n', start);
    if (end == absl::string_view::npos) return text.size();
    start = end + 1;
  }
  size_t end = text.find('\n', start);
  if (end == absl::string_view::npos) end = text.size();
  return std::min(end, start + static_cast<size_t>(std::max(column, 1) - 1));
}

}  // namespace flightplan::cli
