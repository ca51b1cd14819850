#include "service/testing/http_get.h"

#include <httplib.h>

namespace flightplan::service {

HttpAnswer HttpGet(int port, const std::string& path) {
  httplib::Client client("127.0.0.1", port);
  const httplib::Result result = client.Get(path.c_str());
  if (!result) return {};
  return {result->status, result->body};
}

}  // namespace flightplan::service
