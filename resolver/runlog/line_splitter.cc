#include "resolver/runlog/line_splitter.h"

#include <algorithm>

namespace flightplan {
namespace {

bool IsPlain(char byte) { return static_cast<unsigned char>(byte) >= 0x20 && byte != 0x7f; }

}  // namespace

void LineSplitter::Append(absl::string_view piece) {
  const size_t room = kMaxLineBytes - std::min(line_.size(), kMaxLineBytes);
  if (piece.size() > room && !cut_) {
    cut_ = true;
    ++cut_lines_;
  }
  line_.append(piece.data(), std::min(piece.size(), room));
}

void LineSplitter::End(Take take) {
  if (!line_.empty()) take(line_, !cut_);
  line_.clear();
  cut_ = false;
  escape_ = Escape::kNone;
}

bool LineSplitter::Swallow(char byte) {
  switch (escape_) {
    case Escape::kNone:
      if (byte == 0x1b) escape_ = Escape::kStarted;
      return byte == 0x1b;
    case Escape::kStarted:
      escape_ = byte == '[' ? Escape::kSequence : byte == ']' ? Escape::kText : Escape::kNone;
      return true;
    case Escape::kSequence:  // ends with a letter or one of @[\]^_`{|}~
      if (byte >= 0x40 && byte <= 0x7e) escape_ = Escape::kNone;
      return true;
    case Escape::kText:  // a window's title: ends with a bell
      if (byte == 0x07) escape_ = Escape::kNone;
      return true;
  }
  return false;
}

void LineSplitter::Push(absl::string_view bytes, Take take) {
  bytes_ += bytes.size();
  size_t begin = 0;
  while (begin < bytes.size()) {
    size_t end = begin;
    if (escape_ == Escape::kNone) {
      while (end < bytes.size() && IsPlain(bytes[end])) ++end;
      if (end > begin) Append(bytes.substr(begin, end - begin));
      if (end == bytes.size()) return;
    }
    const char byte = bytes[end];
    begin = end + 1;
    if (byte == '\n' || byte == '\r') {
      End(take);
    } else if (!Swallow(byte) && byte == '\t') {
      Append(" ");
    }
  }
}

void LineSplitter::Finish(Take take) {
  if (!line_.empty()) take(line_, false);
  line_.clear();
  cut_ = false;
  escape_ = Escape::kNone;
}

}  // namespace flightplan
