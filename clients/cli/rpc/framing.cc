#include "clients/cli/rpc/framing.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace flightplan::cli {
namespace {

constexpr size_t kChunk = size_t{1} << 16;
constexpr size_t kMaxHeaderBytes = 4096;  // of one line of a header
constexpr int kMaxHeaderLines = 32;
constexpr int64_t kMaxPassedOver = int64_t{1} << 30;  // of a body that is too long; a longer one is nonsense

// Content-Length of a header's line; nothing: another header. Negative: no number.
std::optional<int64_t> LengthOf(absl::string_view line) {
  const size_t colon = line.find(':');
  if (colon == absl::string_view::npos) return std::nullopt;
  if (!absl::EqualsIgnoreCase(absl::StripAsciiWhitespace(line.substr(0, colon)), "content-length")) return std::nullopt;
  int64_t length = -1;
  return absl::SimpleAtoi(absl::StripAsciiWhitespace(line.substr(colon + 1)), &length) ? length : -1;
}

}  // namespace

bool FrameReader::Fill() {
  buffer_.erase(0, at_);
  at_ = 0;
  const size_t had = buffer_.size();
  buffer_.resize(had + kChunk);
  ssize_t got = 0;
  do {
    got = read(descriptor_, buffer_.data() + had, kChunk);
  } while (got < 0 && errno == EINTR);
  buffer_.resize(had + static_cast<size_t>(std::max<ssize_t>(got, 0)));
  return got > 0;
}

FrameEnd FrameReader::Line(size_t most, std::string* line) {
  line->clear();
  bool too_long = false;
  for (size_t searched = 0;;) {
    const size_t end = buffer_.find('\n', at_ + searched);
    if (end != std::string::npos) {
      too_long = too_long || end - at_ > most;
      if (!too_long) line->assign(buffer_, at_, end - at_);
      at_ = end + 1;
      if (!line->empty() && line->back() == '\r') line->pop_back();
      return too_long ? FrameEnd::kTooLong : FrameEnd::kMessage;
    }
    searched = buffer_.size() - at_;
    if (searched > most) {  // the rest of it is not kept
      too_long = true;
      at_ = buffer_.size();
      searched = 0;
    }
    if (Fill()) continue;
    if (framing_ != Framing::kLines || too_long || at_ == buffer_.size()) return FrameEnd::kEnd;
    line->assign(buffer_, at_);  // the last line may end with the stream
    at_ = buffer_.size();
    return FrameEnd::kMessage;
  }
}

FrameEnd FrameReader::NextLine(std::string* message) {
  for (;;) {
    const FrameEnd end = Line(max_bytes_, message);
    if (end != FrameEnd::kMessage || !absl::StripAsciiWhitespace(*message).empty()) return end;
  }
}

FrameEnd FrameReader::NextBody(std::string* message) {
  std::optional<int64_t> length;
  std::string line;
  for (int lines = 0;; ++lines) {
    const FrameEnd end = Line(kMaxHeaderBytes, &line);
    if (end == FrameEnd::kEnd) return end;
    if (end == FrameEnd::kTooLong || lines > kMaxHeaderLines) return FrameEnd::kBroken;
    if (line.empty() && length.has_value()) break;
    if (const std::optional<int64_t> found = LengthOf(line); found.has_value()) length = found;
    if (length.value_or(0) < 0 || length.value_or(0) > kMaxPassedOver) return FrameEnd::kBroken;
    if (!line.empty() && !absl::StrContains(line, ":")) return FrameEnd::kBroken;
  }
  size_t wanted = static_cast<size_t>(*length);
  const bool too_long = wanted > max_bytes_;
  while (buffer_.size() - at_ < wanted) {
    if (too_long) {
      wanted -= buffer_.size() - at_;
      at_ = buffer_.size();
    }
    if (!Fill()) return FrameEnd::kEnd;
  }
  if (!too_long) message->assign(buffer_, at_, wanted);
  at_ += wanted;
  return too_long ? FrameEnd::kTooLong : FrameEnd::kMessage;
}

FrameEnd FrameReader::Next(std::string* message) {
  return framing_ == Framing::kLines ? NextLine(message) : NextBody(message);
}

std::string Framed(Framing framing, absl::string_view message) {
  if (framing == Framing::kLines) return absl::StrCat(message, "\n");
  return absl::StrCat("Content-Length: ", message.size(), "\r\n\r\n", message);
}

}  // namespace flightplan::cli
