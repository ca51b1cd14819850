// What is said of a caller by those who speak to gRPC for others.
#pragma once

namespace flightplan::service {

// The caller's certificate, which was verified, in DER: by the front (deploy/haproxy/front.cfg) and by the port for
// browsers. Believed of these two alone (service/call/access.cc).
inline constexpr char kFrontCertificate[] = "flightplan-client-certificate-bin";

}  // namespace flightplan::service
