#include "service/settings/settings_check.h"

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

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

// What has an effect beside another setting only, and that one is not set.
absl::Status CheckWithoutEffect(const Settings& settings) {
  const Settings plain;
  const std::tuple<absl::string_view, bool, absl::string_view, bool> kNeeds[] = {
      {"web_host", !settings.web_host.empty(), "web_listen", !settings.web_listen.empty()},
      {"web_origin", !settings.web_origin.empty(), "web_listen", !settings.web_listen.empty()},
      {"webhook_cert_file", !settings.webhook_cert_file.empty(), "webhook_listen", !settings.webhook_listen.empty()},
      {"webhook_key_file", !settings.webhook_key_file.empty(), "webhook_listen", !settings.webhook_listen.empty()},
      {"webhook_client_ca_file", !settings.webhook_client_ca_file.empty(), "webhook_listen",
       !settings.webhook_listen.empty()},
      {"webhook_mode", settings.webhook_mode != plain.webhook_mode, "webhook_listen", !settings.webhook_listen.empty()},
      {"webhook_fail_closed", settings.webhook_fail_closed, "webhook_listen", !settings.webhook_listen.empty()},
      {"stack_releases", !settings.stack_releases.empty(), "webhook_listen", !settings.webhook_listen.empty()},
      {"quota_file", !settings.quota_file.empty(), "token_file", !settings.token_file.empty()},
      {"probe_worker", !settings.probe_worker.empty(), "probe", settings.probe},
      {"probe_fake", !settings.probe_fake.empty(), "probe", settings.probe},
      {"decision_log_text", settings.decision_log_text, "decision_log", settings.decision_log != plain.decision_log}};
  for (const auto& [setting, set, other, other_set] : kNeeds) {
    if (set && !other_set) return absl::InvalidArgumentError(absl::StrCat(setting, " needs ", other));
  }
  return absl::OkStatus();
}

// No two listeners have one address: the second would be told that another program has it.
absl::Status CheckApart(const Settings& settings) {
  std::vector<std::pair<absl::string_view, absl::string_view>> listeners;
  for (const std::string& address : settings.listen) listeners.emplace_back("listen", address);
  for (const auto& [setting, address] : std::initializer_list<std::pair<absl::string_view, const std::string&>>{
           {"front_listen", settings.front_listen},
           {"http_listen", settings.http_listen},
           {"health_listen", settings.health_listen},
           {"web_listen", settings.web_listen},
           {"webhook_listen", settings.webhook_listen}}) {
    if (!address.empty()) listeners.emplace_back(setting, address);
  }
  std::map<absl::string_view, absl::string_view> taken;
  for (const auto& [setting, address] : listeners) {
    if (absl::EndsWith(address, ":0")) continue;  // a free port each
    const auto [other, is_first] = taken.emplace(address, setting);
    if (is_first) continue;
    return absl::InvalidArgumentError(absl::StrCat(setting, " is '", Utf8Prefix(address, 64), "', which ",
                                                   other->second, " has already: give each an address of its own"));
  }
  return absl::OkStatus();
}

absl::Status CheckWeb(const Settings& settings, bool tls) {
  const std::string& address = settings.web_listen;
  if (address.empty()) return absl::OkStatus();
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
  FLIGHTPLAN_RETURN_IF_ERROR(CheckWithoutEffect(settings));
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
  return CheckApart(settings);
}

}  // namespace flightplan::service
