#include "service/web/web_policy.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "resolver/base/utf8.h"
#include "service/net/listen_address.h"

namespace flightplan::service {
namespace {

constexpr absl::string_view kAskedHeaders =
    "Authorization, Content-Type, Content-Encoding, Connect-Protocol-Version, Connect-Timeout-Ms, "
    "Connect-Content-Encoding, Connect-Accept-Encoding, X-Request-Id, Traceparent";

// "[::1]:8080" and "::1" as "::1"; nothing: no name at all.
std::optional<std::string> NameIn(absl::string_view host) {
  std::string name = absl::AsciiStrToLower(host);
  const bool port = absl::StartsWith(name, "[") ? absl::StrContains(name, "]:") : absl::StrContains(name, ":");
  if (port || absl::StartsWith(name, "[")) {
    const std::optional<HostPort> at = SplitHostPort(port ? name : absl::StrCat(name, ":0"));
    if (!at.has_value()) return std::nullopt;
    name = at->host;
  }
  if (absl::EndsWith(name, ".")) name.pop_back();
  if (name.empty()) return std::nullopt;
  return name;
}

HttpResponse Forbidden(absl::string_view why) {
  HttpResponse response;
  response.status = 403;
  response.body = absl::StrCat(why, "\n");
  return response;
}

std::string Shown(absl::string_view text) { return Utf8Clip(text, 128); }

}  // namespace

WebPolicy::WebPolicy(const WebNames& names)
    : hosts_{"localhost", "127.0.0.1", "::1"}, origins_(names.origins), tls_(names.tls) {
  for (const std::string& host : names.hosts) {
    if (const std::optional<std::string> name = NameIn(host)) hosts_.push_back(*name);
  }
  const std::optional<HostPort> at = SplitHostPort(names.listen);
  if (at.has_value() && !at->host.empty() && at->host != "0.0.0.0" && at->host != "::") {
    hosts_.push_back(absl::AsciiStrToLower(at->host));
  }
}

bool WebPolicy::IsOurs(absl::string_view host) const {
  const std::optional<std::string> name = NameIn(host);
  return name.has_value() && std::find(hosts_.begin(), hosts_.end(), *name) != hosts_.end();
}

bool WebPolicy::IsListed(absl::string_view origin) const {
  return std::any_of(origins_.begin(), origins_.end(),
                     [&](const std::string& listed) { return absl::EqualsIgnoreCase(listed, origin); });
}

bool WebPolicy::IsSame(absl::string_view origin, absl::string_view host) const {
  return absl::EqualsIgnoreCase(origin, absl::StrCat(tls_ ? "https://" : "http://", host));
}

std::optional<HttpResponse> WebPolicy::Refusal(const HttpRequest& request, bool call) const {
  const std::string* const host = request.Header("host");
  if (host == nullptr || !IsOurs(*host)) {
    return Forbidden(absl::StrCat("Host is '", host == nullptr ? "" : Shown(*host),
                                  "', which is no name of this server; --web_host adds one"));
  }
  const std::string* const origin = request.Header("origin");
  if (origin != nullptr) {
    if (IsSame(*origin, *host) || IsListed(*origin)) return std::nullopt;
    return Forbidden(
        absl::StrCat("pages of the origin '", Shown(*origin), "' may not ask this server; --web_origin adds one"));
  }
  // A browser sends no Origin with what a page of another site makes it load; it does say that it is one.
  const std::string* const site = request.Header("sec-fetch-site");
  const std::string* const mode = request.Header("sec-fetch-mode");
  const bool navigates = !call && mode != nullptr && *mode == "navigate";
  if (site != nullptr && !navigates && *site != "same-origin" && *site != "none") {
    return Forbidden("a page of another site may not load this");
  }
  return std::nullopt;
}

std::optional<HttpResponse> WebPolicy::Preflight(const HttpRequest& request) const {
  if (request.method != "OPTIONS" || request.Header("origin") == nullptr) return std::nullopt;
  HttpResponse response;
  response.status = 204;
  response.content_type = "";
  response.headers = {{"Access-Control-Allow-Methods", "GET, POST"},
                      {"Access-Control-Allow-Headers", std::string(kAskedHeaders)},
                      {"Access-Control-Max-Age", "7200"}};
  return response;
}

std::vector<HttpHeader> WebPolicy::ReadableBy(const HttpRequest& request) const {
  const std::string* const origin = request.Header("origin");
  if (origin == nullptr || !IsListed(*origin)) return {};
  return {{"Access-Control-Allow-Origin", *origin}, {"Access-Control-Expose-Headers", "*"}, {"Vary", "Origin"}};
}

std::vector<HttpHeader> SafeHeaders() {
  return {{"Content-Security-Policy",
           "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'"},
          {"X-Content-Type-Options", "nosniff"},
          {"X-Frame-Options", "DENY"},
          {"Referrer-Policy", "no-referrer"},
          {"Cross-Origin-Opener-Policy", "same-origin"},
          {"Cross-Origin-Resource-Policy", "same-origin"},
          {"Cache-Control", "no-store"}};
}

}  // namespace flightplan::service
