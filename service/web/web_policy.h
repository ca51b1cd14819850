// Whom the port for browsers answers, by what a browser says of where a request comes from. A name that an attacker
// makes point here (DNS rebinding) is no name of ours; a page of another origin asks only if it is listed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "service/http/http_message.h"

namespace flightplan::service {

struct WebNames {
  std::vector<std::string> hosts;    // "flightplan.example.com", without a port; loopback names are always ours
  std::vector<std::string> origins;  // "https://notebook.example.com", as browsers send them
  std::string listen;                // HOST:PORT; its host is a name of ours, where it is one
  bool tls = false;                  // our own origin is https
};

class WebPolicy {
 public:
  explicit WebPolicy(const WebNames& names);

  // The answer of a request that is not let in; nothing: it is. `call`: of one for a method, which no link leads to.
  std::optional<HttpResponse> Refusal(const HttpRequest& request, bool call) const;
  // The answer to a browser that asks beforehand (OPTIONS, with an Origin); nothing: it is another request.
  std::optional<HttpResponse> Preflight(const HttpRequest& request) const;
  // What lets a page of a listed origin read the answer; empty for all others.
  std::vector<HttpHeader> ReadableBy(const HttpRequest& request) const;

 private:
  bool IsOurs(absl::string_view host) const;
  bool IsListed(absl::string_view origin) const;
  bool IsSame(absl::string_view origin, absl::string_view host) const;

  std::vector<std::string> hosts_;  // lower case
  const std::vector<std::string> origins_;
  const bool tls_;
};

// Headers of every answer: nothing from elsewhere is loaded, framed or kept.
std::vector<HttpHeader> SafeHeaders();

}  // namespace flightplan::service
