#include "service/call/access.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "grpc/grpc_security_constants.h"
#include "grpcpp/security/auth_context.h"
#include "resolver/base/nearest.h"
#include "resolver/base/reason.h"
#include "resolver/base/status_macros.h"
#include "resolver/base/yaml.h"
#include "service/net/tls.h"
#include "service/wire/front_metadata.h"

namespace flightplan::service {
namespace {

constexpr absl::string_view kScheme = "bearer ";
// What gRPC calls a connection to a socket of LocalServerCredentials; only that of --front_listen has them.
constexpr absl::string_view kFrontSocket = "local";
// And what it calls the address of a connection within the process.
constexpr absl::string_view kNoAddress = "unknown";
constexpr char kSendToken[] = "send the metadata `authorization: Bearer TOKEN`";

absl::Status Unauthenticated(absl::string_view what) {
  return WithReason(absl::UnauthenticatedError(what), "TOKEN_INVALID");
}

absl::StatusOr<absl::string_view> Text(const YamlDocument& document, const YamlNode& entry, absl::string_view list,
                                       absl::string_view key) {
  const YamlNode* node = entry.Find(key);
  if (node == nullptr) return document.Error(entry, absl::StrCat(list, ".", key), "is required");
  if (node->kind != YamlNode::Kind::kScalar || node->text.empty()) {
    return document.Error(*node, absl::StrCat(list, ".", key), absl::StrCat("is ", node->Describe(), ", must be text"));
  }
  return absl::string_view(node->text);
}

absl::StatusOr<Caller> ReadCaller(const YamlDocument& document, const YamlNode& entry, absl::string_view list,
                                  Tenants* tenants) {
  FLIGHTPLAN_ASSIGN_OR_RETURN(const absl::string_view tenant, Text(document, entry, list, "tenant"));
  const YamlNode* roles = entry.Find("roles");
  const std::string field = absl::StrCat(list, ".roles");
  if (roles == nullptr || roles->kind != YamlNode::Kind::kList || roles->items.empty()) {
    return document.Error(roles == nullptr ? entry : *roles, field, "must be a list such as [read, resolve]");
  }
  Caller caller;
  for (const YamlNode& item : roles->items) {
    const std::optional<Role> role =
        item.kind == YamlNode::Kind::kScalar ? RoleNamed(item.text) : std::optional<Role>();
    if (!role.has_value()) {
      std::vector<absl::string_view> names;
      for (Role known : kRoles) names.push_back(RoleName(known));
      return document.Error(item, field,
                            absl::StrCat("is ", item.Describe(), ", must be one of ", absl::StrJoin(names, ", ")));
    }
    caller.roles.Add(*role);
  }
  caller.tenant = tenants->Get(tenant);
  return caller;
}

// "spiffe://cluster/launcher", "urn:x": RFC 3986.
bool HasScheme(absl::string_view name) {
  const absl::string_view scheme = name.substr(0, name.find(':'));
  return scheme.size() < name.size() && !scheme.empty() && absl::ascii_isalpha(static_cast<unsigned char>(scheme[0])) &&
         std::all_of(scheme.begin(), scheme.end(), [](char c) {
           return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '+' || c == '-' || c == '.';
         });
}

absl::StatusOr<absl::Span<const YamlNode>> Items(const YamlDocument& document, absl::string_view key) {
  const YamlNode* list = document.root.Find(key);
  if (list == nullptr || list->kind == YamlNode::Kind::kNull) return absl::Span<const YamlNode>();
  if (list->kind != YamlNode::Kind::kList) {
    return document.Error(*list, key, absl::StrCat("is ", list->Describe(), ", must be a list"));
  }
  return absl::MakeConstSpan(list->items);
}

}  // namespace

bool AccessTable::SameDigest::operator()(const Digest& a, const Digest& b) const {
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

absl::StatusOr<AccessTable> AccessTable::Parse(absl::string_view file, absl::string_view text, Tenants* tenants) {
  FLIGHTPLAN_ASSIGN_OR_RETURN(const YamlDocument document,
                              ParseYaml(file, text, YamlAliases::kRefused, kTokenFileLimits));
  AccessTable table;
  if (document.root.kind != YamlNode::Kind::kMap) {
    return document.Error(document.root, "(file)", "must be a map with `tokens`, `certificates` or `unix_socket`");
  }
  FLIGHTPLAN_RETURN_IF_ERROR(document.CheckKeys(document.root, "", {"tokens", "certificates", "unix_socket"}));
  FLIGHTPLAN_ASSIGN_OR_RETURN(const absl::Span<const YamlNode> tokens, Items(document, "tokens"));
  if (tokens.size() > kMaxTokens) {
    return document.Error(document.root, "tokens",
                          absl::StrCat("has ", tokens.size(), " entries, at most ", kMaxTokens));
  }
  for (const YamlNode& entry : tokens) {
    FLIGHTPLAN_RETURN_IF_ERROR(document.CheckKeys(entry, "tokens", {"sha256", "tenant", "roles", "expires"}));
    FLIGHTPLAN_ASSIGN_OR_RETURN(const absl::string_view hex, Text(document, entry, "tokens", "sha256"));
    // The value is not repeated in the message: somebody may have written the token itself here.
    if (hex.size() != 64 || hex.find_first_not_of("0123456789abcdefABCDEF") != absl::string_view::npos) {
      return document.Error(*entry.Find("sha256"), "tokens.sha256", "must be the 64 hex digits of a SHA-256");
    }
    FLIGHTPLAN_ASSIGN_OR_RETURN(const absl::string_view expires, Text(document, entry, "tokens", "expires"));
    Token token;
    std::string why;
    if (!absl::ParseTime(absl::RFC3339_full, expires, &token.expires, &why)) {
      return document.Error(*entry.Find("expires"), "tokens.expires", "must be a time such as 2027-01-01T00:00:00Z");
    }
    FLIGHTPLAN_ASSIGN_OR_RETURN(token.caller, ReadCaller(document, entry, "tokens", tenants));
    const std::string bytes = absl::HexStringToBytes(hex);
    Digest digest;
    std::copy(bytes.begin(), bytes.end(), digest.begin());
    if (!table.tokens_.emplace(digest, token).second) {
      return document.Error(*entry.Find("sha256"), "tokens.sha256", "stands here twice");
    }
  }
  FLIGHTPLAN_ASSIGN_OR_RETURN(const absl::Span<const YamlNode> certificates, Items(document, "certificates"));
  for (const YamlNode& entry : certificates) {
    FLIGHTPLAN_RETURN_IF_ERROR(document.CheckKeys(entry, "certificates", {"name", "tenant", "roles"}));
    FLIGHTPLAN_ASSIGN_OR_RETURN(const absl::string_view name, Text(document, entry, "certificates", "name"));
    FLIGHTPLAN_ASSIGN_OR_RETURN(const Caller caller, ReadCaller(document, entry, "certificates", tenants));
    if (!(HasScheme(name) ? table.by_uri_ : table.by_common_name_).emplace(std::string(name), caller).second) {
      return document.Error(*entry.Find("name"), "certificates.name", absl::StrCat("'", name, "' stands here twice"));
    }
  }
  if (const YamlNode* socket = document.root.Find("unix_socket"); socket != nullptr) {
    FLIGHTPLAN_RETURN_IF_ERROR(document.CheckKeys(*socket, "unix_socket", {"tenant", "roles"}));
    FLIGHTPLAN_ASSIGN_OR_RETURN(table.unix_socket_, ReadCaller(document, *socket, "unix_socket", tenants));
  }
  return table;
}

absl::StatusOr<Caller> AccessTable::Identify(const Credentials& credentials, absl::Time now) const {
  absl::string_view token = credentials.authorization;
  if (!token.empty()) {
    if (!absl::StartsWithIgnoreCase(token, kScheme)) {
      return Unauthenticated(absl::StrCat("the authorization header is no bearer token; ", kSendToken));
    }
    token.remove_prefix(kScheme.size());
    if (token.size() > kMaxTokenBytes) return Unauthenticated("the token is not known");
    Digest digest;
    SHA256(reinterpret_cast<const unsigned char*>(token.data()), token.size(), digest.data());
    const auto found = tokens_.find(digest);
    if (found == tokens_.end()) return Unauthenticated("the token is not known");
    if (found->second.expires <= now) {
      return Unauthenticated(absl::StrCat(
          "the token expired at ", absl::FormatTime(absl::RFC3339_sec, found->second.expires, absl::UTCTimeZone())));
    }
    return found->second.caller;
  }
  for (const std::string& uri : credentials.certificate.uris) {
    if (const auto found = by_uri_.find(uri); found != by_uri_.end()) return found->second;
  }
  for (const std::string& name : credentials.certificate.common) {
    if (const auto found = by_common_name_.find(name); found != by_common_name_.end()) return found->second;
  }
  if (credentials.unix_socket && unix_socket_.has_value()) return *unix_socket_;
  return Unauthenticated(credentials.certificate.uris.empty() && credentials.certificate.common.empty()
                             ? absl::StrCat("no token; ", kSendToken)
                             : absl::StrCat("the client certificate belongs to no tenant; ", kSendToken));
}

namespace {

std::vector<std::string> Values(const grpc::AuthContext& auth, const char* property) {
  std::vector<std::string> values;
  for (const grpc::string_ref& value : auth.FindPropertyValues(property)) {
    values.emplace_back(value.data(), value.size());
  }
  return values;
}

// The front, or the port for browsers: what is said of the caller was verified. A connection of this process itself has
// no address, and no kind of transport, which that of every listener has.
bool SpeaksForOthers(const grpc::AuthContext& auth, absl::string_view peer) {
  const std::vector<std::string> types = Values(auth, GRPC_TRANSPORT_SECURITY_TYPE_PROPERTY_NAME);
  return types.empty() ? peer == kNoAddress : types.size() == 1 && types.front() == kFrontSocket;
}

Credentials WithoutToken(const grpc::ServerContextBase& context) {
  Credentials credentials;
  const std::shared_ptr<const grpc::AuthContext> auth = context.auth_context();
  if (auth != nullptr && SpeaksForOthers(*auth, context.peer())) {
    // Anybody behind it: not a caller on this machine.
    const auto found = context.client_metadata().find(kFrontCertificate);
    if (found != context.client_metadata().end()) {
      credentials.certificate = NamesIn(absl::string_view(found->second.data(), found->second.size()));
    }
  } else {
    credentials.unix_socket = absl::StartsWith(context.peer(), "unix");
    if (auth != nullptr && auth->IsPeerAuthenticated()) {
      credentials.certificate = {Values(*auth, GRPC_PEER_URI_PROPERTY_NAME), Values(*auth, GRPC_X509_CN_PROPERTY_NAME)};
    }
  }
  return credentials;
}

}  // namespace

void Access::Replace(std::shared_ptr<const AccessTable> table) {
  const std::lock_guard<std::mutex> lock(mutex_);
  table_.swap(table);
}

std::shared_ptr<const AccessTable> Access::Table() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return table_;
}

absl::StatusOr<Caller> Access::Check(const grpc::ServerContextBase& context, Role role) const {
  // Nobody is asked who they are: what a caller shows is not looked at.
  if (Table() == nullptr) return Caller{nullptr, RoleSet::All()};
  Credentials credentials;
  if (const auto found = context.client_metadata().find("authorization"); found != context.client_metadata().end()) {
    credentials.authorization = absl::string_view(found->second.data(), found->second.size());
  } else {
    credentials = WithoutToken(context);
  }
  return Check(credentials, role);
}

absl::StatusOr<Caller> Access::Check(const Credentials& credentials, Role role) const {
  const std::shared_ptr<const AccessTable> table = Table();
  if (table == nullptr) return Caller{nullptr, RoleSet::All()};
  FLIGHTPLAN_ASSIGN_OR_RETURN(const Caller caller, table->Identify(credentials, absl::Now()));
  if (!caller.roles.Has(role)) {
    return WithReason(
        absl::PermissionDeniedError(absl::StrCat("this call needs the role ", RoleName(role), ", which tenant ",
                                                 caller.tenant->name(), "'s token or certificate does not have")),
        "ROLE_MISSING");
  }
  return caller;
}

}  // namespace flightplan::service
