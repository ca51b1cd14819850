// Why a caller of an HTTP port got no answer, or an error: the series of flightplan_http_dropped_total.
#pragma once

#include <array>

#include "absl/strings/string_view.h"

namespace flightplan::service {

enum class HttpDrop {
  kFull,          // a new connection found every place of the server, or of its address, being answered
  kDisplaced,     // a connection that kept the server waiting made room for another
  kSlow,          // a request was not whole in time, or its answer not taken
  kBusy,          // told 503: too many requests or bodies at once
  kMalformed,     // told 400, 411, 413 or 431
  kTls,           // no handshake came about
  kNoDescriptor,  // a connection could not be accepted for want of a descriptor
  kForeign,       // told 403: a Host that is no name of ours, or a page of an origin that may not ask
};
// "full", "displaced", "slow", "busy", "malformed", "tls", "no_descriptor", "foreign": in the order of the values.
inline constexpr std::array<absl::string_view, 8> kHttpDropWords = {
    "full", "displaced", "slow", "busy", "malformed", "tls", "no_descriptor", "foreign"};

}  // namespace flightplan::service
