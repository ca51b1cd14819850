// The frames of Connect's streams: one byte of flags, four of length (big-endian), the message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace flightplan::service {

// The reason (resolver/base/reason.h) of what is no message of the protocol, of an INTERNAL that it wants for that,
// too.
inline constexpr char kEnvelopeInvalid[] = "ENVELOPE_INVALID";
inline constexpr char kRequestTooLarge[] = "REQUEST_TOO_LARGE";

inline constexpr uint8_t kEnvelopeCompressed = 1;
inline constexpr uint8_t kEnvelopeEnd = 2;  // of answers alone

struct Envelope {
  uint8_t flags = 0;
  absl::string_view message;  // in the body that was read
};

// All of a body. INVALID_ARGUMENT (ENVELOPE_INVALID): a frame is cut short or has flags that requests do not have.
absl::StatusOr<std::vector<Envelope>> ReadEnvelopes(absl::string_view body);
std::string WriteEnvelope(uint8_t flags, absl::string_view message);

}  // namespace flightplan::service
