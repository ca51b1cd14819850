#include "service/web/envelope.h"

#include "absl/strings/str_cat.h"
#include "resolver/base/reason.h"

namespace flightplan::service {
namespace {

constexpr size_t kHeadBytes = 5;

uint32_t LengthOf(absl::string_view head) {
  uint32_t length = 0;
  for (size_t i = 1; i < kHeadBytes; ++i) length = length << 8 | static_cast<uint8_t>(head[i]);
  return length;
}

template <class... Parts>
absl::Status Invalid(size_t at, const Parts&... parts) {
  return WithReason(absl::InvalidArgumentError(absl::StrCat("at byte ", at, ": ", parts...)), kEnvelopeInvalid);
}

}  // namespace

absl::StatusOr<std::vector<Envelope>> ReadEnvelopes(absl::string_view body) {
  std::vector<Envelope> envelopes;
  size_t at = 0;
  while (at < body.size()) {
    const absl::string_view rest = body.substr(at);
    if (rest.size() < kHeadBytes) {
      return Invalid(at, "an envelope's head has 5 bytes, here are ", rest.size());
    }
    const auto flags = static_cast<uint8_t>(rest[0]);
    const uint32_t length = LengthOf(rest);
    if ((flags & ~kEnvelopeCompressed) != 0) {
      return Invalid(at, "an envelope of a request has the flags ", int{flags}, ", may have 0 or 1");
    }
    if (rest.size() - kHeadBytes < length) {
      return Invalid(at, "an envelope says ", length, " bytes, and ", rest.size() - kHeadBytes, " follow");
    }
    envelopes.push_back({flags, rest.substr(kHeadBytes, length)});
    at += kHeadBytes + length;
  }
  return envelopes;
}

std::string WriteEnvelope(uint8_t flags, absl::string_view message) {
  std::string bytes;
  bytes.reserve(kHeadBytes + message.size());
  bytes.push_back(static_cast<char>(flags));
  for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(message.size() >> shift & 0xff));
  bytes.append(message.data(), message.size());
  return bytes;
}

}  // namespace flightplan::service
