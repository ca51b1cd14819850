// Parses the addresses that --listen and similar flags name.
#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace flightplan::service {

struct HostPort {
  std::string host;  // without the brackets of [::1]; may be empty: any
  std::string port;  // as written, up to 65535; may be empty
};
// HOST:PORT or [HOST]:PORT. Empty: it is neither; an IPv6 address without brackets has no end, and gRPC takes a port
// above 65,535 for what is left of it in 16 bits.
std::optional<HostPort> SplitHostPort(absl::string_view address);

inline constexpr char kHostPortForms[] = "HOST:PORT or [HOST]:PORT, PORT from 0 to 65535,";  // for errors

// Whether nobody on another machine reaches it: a unix socket, 127.A.B.C, [::1] or localhost.
bool IsLoopback(absl::string_view address);

}  // namespace flightplan::service
