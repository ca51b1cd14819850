// Explains why a server cannot listen on an address, for the error with which it refuses to start.
#pragma once

#include <string>

namespace flightplan::service {

// `address`: HOST:PORT, [HOST]:PORT or unix:PATH, as --listen takes it. Tries what a server does and says in words what
// is wrong and what to do; empty: nothing is wrong with it now.
std::string WhyNotListen(const std::string& address);

}  // namespace flightplan::service
