// Messages out of a stream of bytes: one a line (MCP), or after a Content-Length header (LSP). Nothing that the other
// side writes makes it keep more than the bound.
#pragma once

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace flightplan::cli {

enum class Framing { kLines, kHeaders };

enum class FrameEnd {
  kMessage,  // *message is one
  kTooLong,  // one that was longer than the bound was passed over; the next can be read
  kBroken,   // what follows cannot be told apart any more: a header without a length
  kEnd,      // the stream has ended
};

class FrameReader {
 public:
  // `descriptor` stays the caller's.
  FrameReader(int descriptor, Framing framing, size_t max_bytes)
      : descriptor_(descriptor), framing_(framing), max_bytes_(max_bytes) {}

  // Waits for a message. Lines that are empty are passed over.
  FrameEnd Next(std::string* message);

 private:
  FrameEnd NextLine(std::string* message);
  FrameEnd NextBody(std::string* message);
  // A line without its end, of at most `most` bytes; a longer one is passed over (kTooLong).
  FrameEnd Line(size_t most, std::string* line);
  // Reads more into buffer_; false: the stream has ended.
  bool Fill();

  const int descriptor_;
  const Framing framing_;
  const size_t max_bytes_;
  std::string buffer_;
  size_t at_ = 0;  // what of buffer_ is handed out
};

// `message` as it goes onto the stream.
std::string Framed(Framing framing, absl::string_view message);

}  // namespace flightplan::cli
