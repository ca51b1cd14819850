#include "service/http/http_loop.h"

#include "absl/strings/str_cat.h"

namespace flightplan::service {

HttpResponse HttpLoop::Says(int status, absl::string_view text) const {
  if (options.complaint) return options.complaint(status, text);
  HttpResponse response;
  response.status = status;
  response.body = absl::StrCat(text, "\n");
  return response;
}

const HttpRoute* HttpLoop::Find(absl::string_view method, absl::string_view path, HttpResponse* otherwise) const {
  int status = 404;
  std::string line = "nothing is here";
  for (const HttpRoute& route : routes) {
    if (route.path != path && route.path != "*") continue;
    if (route.method == "*" || route.method == method || (route.method == "GET" && method == "HEAD")) return &route;
    status = 405;
    line = absl::StrCat("this is asked by ", route.method);
  }
  *otherwise = Says(status, line);
  return nullptr;
}

}  // namespace flightplan::service
