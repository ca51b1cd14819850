// Identifies callers by token or certificate, and holds the role and tenant of each.
//
// tokens.yaml:
//   tokens:
//     - {sha256: 64 hex digits of the token's SHA-256, tenant: research, roles: [read, resolve],
//        expires: 2027-01-01T00:00:00Z}
//   certificates:                    # of clients, with --tls_client_ca_file
//     # A name with a scheme is a URI among the subject's alternative names, and nothing else; another is a common
//     name.
//     - {name: spiffe://cluster/launcher, tenant: research, roles: [read, resolve, evidence.write]}
//   unix_socket: {tenant: node, roles: [read, resolve]}   # callers on a socket who send no token
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "grpcpp/server_context.h"
#include "resolver/base/yaml.h"
#include "service/call/tenant.h"
#include "service/net/tls.h"
#include "service/wire/role.h"

namespace flightplan::service {

inline constexpr size_t kMaxTokenBytes = 4096;
inline constexpr size_t kMaxTokens = 100'000;
// Of the file: as many tokens with room for long names, and what they take while it is read.
inline constexpr YamlLimits kTokenFileLimits = {size_t{32} << 20, size_t{256} << 20};

struct Caller {
  Tenant* tenant = nullptr;  // null: nobody is asked who they are
  RoleSet roles;
};

// What a call shows about its caller.
struct Credentials {
  absl::string_view authorization;  // the header's value, of the call; empty: none
  bool unix_socket = false;
  CertificateNames certificate;  // that TLS has verified
};

// One content of tokens.yaml. Immutable.
class AccessTable {
 public:
  static absl::StatusOr<AccessTable> Parse(absl::string_view file, absl::string_view text, Tenants* tenants);

  // UNAUTHENTICATED: no token or a bad one. A token that is sent counts alone: a bad one is not mended by a
  // certificate.
  absl::StatusOr<Caller> Identify(const Credentials& credentials, absl::Time now) const;
  size_t token_count() const { return tokens_.size(); }

 private:
  using Digest = std::array<unsigned char, 32>;
  struct Token {
    Caller caller;
    absl::Time expires;
  };
  // The look-up sees digests only, and absl's hash is seeded anew in each process; the last word is a comparison whose
  // time tells nothing.
  struct SameDigest {
    bool operator()(const Digest& a, const Digest& b) const;
  };

  absl::flat_hash_map<Digest, Token, absl::Hash<Digest>, SameDigest> tokens_;
  // By kind: a common name may be any text, one that looks like a URI too.
  absl::flat_hash_map<std::string, Caller> by_uri_, by_common_name_;
  std::optional<Caller> unix_socket_;
};

// The table in force; replaced while calls run.
class Access {
 public:
  // Null: no token file, everybody who reaches a listener may do everything.
  void Replace(std::shared_ptr<const AccessTable> table);
  // UNAUTHENTICATED with reason TOKEN_INVALID, or PERMISSION_DENIED with ROLE_MISSING.
  absl::StatusOr<Caller> Check(const grpc::ServerContextBase& context, Role role) const;
  // The same of what a caller has shown elsewhere than in a call of gRPC.
  absl::StatusOr<Caller> Check(const Credentials& credentials, Role role) const;

 private:
  std::shared_ptr<const AccessTable> Table() const;

  mutable std::mutex mutex_;
  std::shared_ptr<const AccessTable> table_;  // guarded by mutex_
};

}  // namespace flightplan::service
