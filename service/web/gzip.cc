#include "service/web/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "resolver/base/reason.h"
#include "service/web/envelope.h"

namespace flightplan::service {
namespace {

constexpr int kWindowBits = 15 + 16;  // the largest window, in gzip's wrapper
constexpr int kMemoryLevel = 8;       // zlib's default
constexpr size_t kBlockBytes = size_t{64} << 10;

Bytef* BytesOf(absl::string_view text) { return reinterpret_cast<Bytef*>(const_cast<char*>(text.data())); }

struct Inflater {
  Inflater() { ready = inflateInit2(&stream, kWindowBits) == Z_OK; }
  ~Inflater() {
    if (ready) inflateEnd(&stream);
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  z_stream stream{};
  bool ready = false;
};

}  // namespace

bool TakesGzip(absl::string_view accepted) {
  for (const absl::string_view item : absl::StrSplit(accepted, ',')) {
    const std::vector<absl::string_view> parts = absl::StrSplit(item, ';');
    if (absl::StripAsciiWhitespace(parts[0]) != "gzip") continue;
    double weight = 1;
    for (absl::string_view part : parts) {
      part = absl::StripAsciiWhitespace(part);
      if (absl::ConsumePrefix(&part, "q=") && !absl::SimpleAtod(part, &weight)) weight = 0;
    }
    return weight > 0;
  }
  return false;
}

absl::StatusOr<std::string> Gunzip(absl::string_view bytes, size_t max_bytes) {
  Inflater inflater;
  if (!inflater.ready) return absl::ResourceExhaustedError("no memory to unpack gzip");
  z_stream& stream = inflater.stream;
  stream.next_in = BytesOf(bytes);
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::string out;
  int state = Z_OK;
  while (state == Z_OK) {
    const size_t before = out.size();
    const size_t room = std::min(kBlockBytes, max_bytes + 1 - before);
    out.resize(before + room);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + before);
    stream.avail_out = static_cast<uInt>(room);
    state = inflate(&stream, Z_NO_FLUSH);
    out.resize(before + room - stream.avail_out);
    if (out.size() > max_bytes) {
      return WithReason(
          absl::ResourceExhaustedError(absl::StrCat("unpacked, the message has more than ", max_bytes, " bytes")),
          kRequestTooLarge);
    }
  }
  if (state == Z_BUF_ERROR) return absl::InvalidArgumentError("the gzip stream is cut short");
  if (state != Z_STREAM_END) return absl::InvalidArgumentError("the bytes are no gzip stream");
  if (stream.avail_in > 0) return absl::InvalidArgumentError("bytes follow the end of the gzip stream");
  return out;
}

std::string Gzip(absl::string_view bytes) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kWindowBits, kMemoryLevel, Z_DEFAULT_STRATEGY) != Z_OK) return "";
  std::string out(deflateBound(&stream, static_cast<uLong>(bytes.size())), '\0');
  stream.next_in = BytesOf(bytes);
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int state = deflate(&stream, Z_FINISH);
  out.resize(state == Z_STREAM_END ? out.size() - stream.avail_out : 0);
  deflateEnd(&stream);
  return out;
}

}  // namespace flightplan::service
