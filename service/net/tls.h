// Server credentials from PEM files that may change while the server runs: certificates are rotated without a restart,
// open connections stay as they are.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "grpcpp/security/server_credentials.h"

namespace flightplan::service {

// How often the files are looked at.
inline constexpr unsigned kCertificateRefreshSeconds = 1;

struct TlsFiles {
  std::string certificate;  // the chain, leaf first; empty: no TLS
  std::string key;
  std::string client_ca;  // empty: no client certificate is asked for; else one is required

  bool on() const { return !certificate.empty(); }
};

// FAILED_PRECONDITION names the file and what is wrong: not readable, no PEM, expired, key of another certificate.
absl::Status CheckTlsFiles(const TlsFiles& files, absl::Time now);
// The earliest end of validity in a PEM file of certificates.
absl::StatusOr<absl::Time> CertificateExpiry(const std::string& path);

// Whom a client certificate names. The two are kept apart: an authority that lets people choose their common name has
// not said that a URI is theirs.
struct CertificateNames {
  std::vector<std::string> uris;  // subject alternative names
  std::vector<std::string> common;
};
// Of a certificate in DER, which must have been verified. Nobody where it cannot be read.
CertificateNames NamesIn(absl::string_view der);

// TLS 1.2 at least. The files were checked before: gRPC itself says nothing about a bad file, and then refuses every
// handshake until a good one comes.
std::shared_ptr<grpc::ServerCredentials> TlsCredentials(const TlsFiles& files);

}  // namespace flightplan::service
