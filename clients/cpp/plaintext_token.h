// Whether a bearer token may go to a server that is spoken to in plain text.
#pragma once

#include <string>

namespace flightplan {

// Set to 1: a token is sent in plain text to other machines too. The variable of every client.
inline constexpr char kAllowPlaintextToken[] = "FLIGHTPLAN_ALLOW_PLAINTEXT_TOKEN";

// `address` is a unix socket, a loopback address or localhost, in the forms that gRPC takes.
bool IsLocalAddress(const std::string& address);

// Local, or allowed by the environment.
bool MayCarryPlaintextToken(const std::string& address);

// What the caller is told where it may not.
std::string PlaintextTokenRefusal(const std::string& address);

}  // namespace flightplan
