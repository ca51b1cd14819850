// What the output device can show.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace flightplan::cli {

enum class Style { kPlain, kBold, kDim, kRed, kGreen, kYellow };

struct Terminal {
  static constexpr int kDefaultWidth = 100;

  int width = kDefaultWidth;
  bool color = false;
  bool interactive = false;  // a person reads it, not a file or a program
  bool utf8 = true;

  // Of the process: standard output's size or COLUMNS; colour only on a terminal, without NO_COLOR, and TERM not
  // "dumb"; UTF-8 by LC_ALL, LC_CTYPE, LANG.
  static Terminal Detect();

  absl::string_view ellipsis() const { return utf8 ? "…" : ".."; }
  absl::string_view times() const { return utf8 ? " × " : " x "; }
  absl::string_view arrow() const { return utf8 ? " → " : " -> "; }
  absl::string_view block() const { return utf8 ? "█" : "#"; }
  absl::string_view shade() const { return utf8 ? "░" : "."; }

  // Harmless, and ASCII where the terminal wants it.
  std::string Shown(absl::string_view text) const;
  // The same for text of several lines, such as a command to paste, which is never wrapped.
  std::string ShownLines(absl::string_view text) const;
  // In colour, where there is colour.
  std::string Paint(absl::string_view text, Style style) const;
};

}  // namespace flightplan::cli
