#include "clients/cli/observe/inflate.h"

#include <algorithm>
#include <limits>

#include "absl/strings/match.h"

namespace flightplan::cli {
namespace {

constexpr size_t kBufferBytes = size_t{64} << 10;
constexpr int kGzipWindow = 15 + 16;  // 32 KiB, with gzip's head

}  // namespace

Inflater::Inflater() : buffer_(kBufferBytes, '\0') {
  ready_ = inflateInit2(&stream_, kGzipWindow) == Z_OK;
  broken_ = !ready_;
}

Inflater::~Inflater() {
  if (ready_) inflateEnd(&stream_);
}

bool Inflater::Recognises(absl::string_view begin) { return absl::StartsWith(begin, "\x1f\x8b\x08"); }

void Inflater::Push(absl::string_view bytes, absl::FunctionRef<void(absl::string_view)> take) {
  while (!bytes.empty() && !broken_) {
    const size_t piece = std::min<size_t>(bytes.size(), std::numeric_limits<uInt>::max());
    // zlib does not write to its input; its interface is older than const.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));  // NOLINT
    stream_.avail_in = static_cast<uInt>(piece);
    if (ended_) {  // another packed file begins
      broken_ = inflateReset(&stream_) != Z_OK;
      ended_ = false;
    }
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(buffer_.data());
      stream_.avail_out = static_cast<uInt>(buffer_.size());
      const int result = inflate(&stream_, Z_NO_FLUSH);
      const size_t got = buffer_.size() - stream_.avail_out;
      if (got > 0) take(absl::string_view(buffer_.data(), got));
      ended_ = result == Z_STREAM_END;
      broken_ = result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR;
    } while (!ended_ && !broken_ && stream_.avail_out == 0);
    bytes.remove_prefix(piece - stream_.avail_in);
    if (!ended_ && stream_.avail_in > 0 && !broken_) broken_ = true;  // it takes no more and does not say why
  }
}

}  // namespace flightplan::cli
