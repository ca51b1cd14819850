// Plain HTTP for probes and scrapers: /metrics, /healthz, /readyz, /version.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "service/metrics.h"

namespace httplib {
class Server;
}

namespace flightplan::service {

class HttpEndpoint {
 public:
  struct Options {
    std::string listen;  // HOST:PORT, port 0: any free one
    std::function<std::string()> version_json;
    std::function<bool()> alive, ready;  // of /healthz and /readyz
  };
  // `metrics` and what the options ask must outlive the endpoint.
  static absl::StatusOr<std::unique_ptr<HttpEndpoint>> Start(const Options& options, Metrics* metrics);
  ~HttpEndpoint();

  int port() const { return port_; }

 private:
  HttpEndpoint();

  std::unique_ptr<httplib::Server> server_;
  int port_ = 0;
  std::thread thread_;
};

}  // namespace flightplan::service
