#include "service/settings/settings_check.h"

#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "resolver/base/status_macros.h"
#include "resolver/base/utf8.h"
#include "service/net/listen_address.h"

namespace flightplan::service {
namespace {

bool IsHostPort(const std::string& address) {
  const std::optional<HostPort> at = SplitHostPort(address);
  return at.has_value() && !at->port.empty();
}

// Of a port that is HTTP's; empty: there is none.
absl::Status CheckHttpAddress(absl::string_view setting, const std::string& address, absl::string_view example) {
  if (address.empty() || (!absl::StartsWith(address, "unix:") && IsHostPort(address))) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(setting, " is '", Utf8Prefix(address, 64), "', must be ", kHostPortForms, " such as ", example));
}

absl::Status CheckWeb(const Settings& settings, bool tls) {
  const std::string& address = settings.web_listen;
  if (address.empty()) {
    if (settings.web_host.empty() && settings.web_origin.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError("web_host and web_origin need web_listen");
  }
  FLIGHTPLAN_RETURN_IF_ERROR(CheckHttpAddress("web_listen", address, "127.0.0.1:8080"));
  if (IsLoopback(address)) return absl::OkStatus();
  const std::string reachable = absl::StrCat("web_listen '", address, "' can be reached from other machines and ");
  if (settings.token_file.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(reachable, "callers are not asked who they are; set token_file, or use a loopback address"));
  }
  if (!tls && !settings.allow_plaintext) {
    return absl::InvalidArgumentError(absl::StrCat(
        reachable, "has no TLS; set tls_cert_file and tls_key_file, use a loopback address, or say --allow_plaintext"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckTogether(const Settings& settings) {
  const bool tls = !settings.tls_cert_file.empty();
  if (tls != !settings.tls_key_file.empty()) {
    return absl::InvalidArgumentError("tls_cert_file and tls_key_file need each other");
  }
  if (!tls && !settings.tls_client_ca_file.empty()) {
    return absl::InvalidArgumentError("tls_client_ca_file needs tls_cert_file and tls_key_file");
  }
  if (!settings.webhook_listen.empty() && (settings.webhook_cert_file.empty() || settings.webhook_key_file.empty())) {
    return absl::InvalidArgumentError(
        "webhook_listen needs webhook_cert_file and webhook_key_file: the API server calls HTTPS only");
  }
  if (!settings.front_listen.empty()) {
    if (!absl::StartsWith(settings.front_listen, "unix:/")) {
      return absl::InvalidArgumentError(absl::StrCat("front_listen is '", Utf8Prefix(settings.front_listen, 64),
                                                     "', must be unix:/PATH, which only the front may open"));
    }
    if (settings.token_file.empty()) {
      return absl::InvalidArgumentError(
          "front_listen needs token_file: whoever reaches the front is a stranger, and is asked who they are");
    }
  }
  FLIGHTPLAN_RETURN_IF_ERROR(CheckHttpAddress("http_listen", settings.http_listen, "127.0.0.1:9464"));
  FLIGHTPLAN_RETURN_IF_ERROR(CheckHttpAddress("health_listen", settings.health_listen, "127.0.0.1:9465"));
  FLIGHTPLAN_RETURN_IF_ERROR(CheckHttpAddress("webhook_listen", settings.webhook_listen, "0.0.0.0:8443"));
  FLIGHTPLAN_RETURN_IF_ERROR(CheckWeb(settings, tls));
  for (const std::string& address : settings.listen) {
    if (absl::StartsWith(address, "unix:")) continue;
    if (!IsHostPort(address)) {
      return absl::InvalidArgumentError(
          absl::StrCat("listen address '", Utf8Prefix(address, 64), "' must be ", kHostPortForms, " or unix:PATH"));
    }
    if (IsLoopback(address)) continue;
    const std::string reachable =
        absl::StrCat("listen address '", address, "' can be reached from other machines and ");
    if (!tls && !settings.allow_plaintext) {
      return absl::InvalidArgumentError(
          absl::StrCat(reachable,
                       "has no TLS; set tls_cert_file and tls_key_file, use a loopback address or a unix "
                       "socket, or say --allow_plaintext"));
    }
    if (settings.token_file.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(reachable,
                       "callers are not asked who they are; set token_file, or use a loopback address or a "
                       "unix socket"));
    }
  }
  return absl::OkStatus();
}

}  // namespace flightplan::service
