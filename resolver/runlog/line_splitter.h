// Cuts what a run prints into lines, whatever stands between them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"

namespace flightplan {

// Lines end at a line feed or at a carriage return, so that a progress bar that writes over itself is many short lines.
// Colours, NUL and other control bytes are left out. Keeps at most kMaxLineBytes: what a longer line has beyond them is
// passed over and counted.
class LineSplitter {
 public:
  static constexpr size_t kMaxLineBytes = size_t{16} << 10;
  // `complete`: the line's end was seen. The view holds during the call.
  using Take = absl::FunctionRef<void(absl::string_view line, bool complete)>;

  void Push(absl::string_view bytes, Take take);
  // The end of the text: gives the last line if it has no end.
  void Finish(Take take);

  uint64_t bytes() const { return bytes_; }
  uint64_t cut_lines() const { return cut_lines_; }

 private:
  enum class Escape { kNone, kStarted, kSequence, kText };

  void Append(absl::string_view piece);
  void End(Take take);
  // Whether the byte belongs to a terminal's escape sequence.
  bool Swallow(char byte);

  std::string line_;
  Escape escape_ = Escape::kNone;
  bool cut_ = false;
  uint64_t bytes_ = 0, cut_lines_ = 0;
};

}  // namespace flightplan
