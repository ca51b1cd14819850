// A text by line and UTF-16 character, as editors count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace flightplan::cli {

// From 0. What lies outside the text means its nearest place.
struct TextPosition {
  int64_t line = 0;
  int64_t character = 0;  // UTF-16 code units
};

class TextLines {
 public:
  // `text` must outlive it. Lines end with \n, \r\n or \r.
  explicit TextLines(absl::string_view text);

  // `text` is what the text became when the bytes from `from` up to `to` gave way to `bytes` others: the lines around
  // them are found again, not all.
  void Replaced(absl::string_view text, size_t from, size_t to, size_t bytes);

  // In bytes; never inside a character.
  size_t OffsetOf(TextPosition position) const;
  TextPosition PositionOf(size_t offset) const;
  size_t LineStart(size_t line) const { return starts_[line]; }
  size_t line_count() const { return starts_.size(); }
  // Without its end.
  absl::string_view Line(size_t line) const;

 private:
  // Whether a line ends with this byte.
  bool EndsLine(size_t at) const;

  absl::string_view text_;
  std::vector<size_t> starts_;
};

// UTF-16 code units of UTF-8 text.
int64_t Utf16Units(absl::string_view text);

// The offset of a place as our own readers count: lines by \n and columns by bytes, both from 1; 0: not known.
size_t OffsetOfPlace(absl::string_view text, int line, int column);

}  // namespace flightplan::cli
