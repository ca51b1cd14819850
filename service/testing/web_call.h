// One request to the port for browsers, for tests.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "service/testing/pki.h"

namespace flightplan::service {

struct WebAnswer {
  int status = 0;                              // 0: no answer
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;

  // "": there is none of that name.
  std::string Header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
};

struct WebRequest {
  std::string method = "POST";
  std::string target = "/";
  std::vector<std::pair<std::string, std::string>> headers;  // "host" is added where it is not there
  std::string body;
};

WebAnswer WebCall(int port, const WebRequest& request);
// The same over TLS; the server must be one of `roots`. `own`: the caller's certificate, or none.
WebAnswer WebCallTls(int port, const WebRequest& request, const std::string& roots, const KeyAndCertificate& own = {});

// A call by JSON.
inline WebRequest JsonCall(const std::string& method, const std::string& json) {
  return {"POST", "/flightplan.v1." + method, {{"content-type", "application/json"}}, json};
}

}  // namespace flightplan::service
