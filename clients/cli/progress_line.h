// One line on standard error that is written over, for a person who waits; nothing where nobody looks.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <string>

namespace flightplan::cli {

class ProgressLine {
 public:
  ProgressLine() = default;
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine() {
    if (written_) std::fprintf(stderr, "\r\033[K");
  }

  bool shown() const { return shown_; }
  // `text` must be safe for a terminal and shorter than a line.
  void Show(const std::string& text) {
    if (!shown_) return;
    std::fprintf(stderr, "\r\033[K%s", text.c_str());
    std::fflush(stderr);
    written_ = true;
  }

 private:
  const bool shown_ = isatty(STDERR_FILENO) == 1;
  bool written_ = false;
};

}  // namespace flightplan::cli
