// Serves scrapers and probes over plain HTTP: /metrics and /version, /healthz and /readyz.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "service/http/http_server.h"
#include "service/observe/metrics.h"

namespace flightplan::service {

struct Health {
  std::function<bool()> alive, ready;  // of /healthz and /readyz
};

// All four on `listen`, the setting http_listen. What is asked must outlive the endpoint.
absl::StatusOr<std::unique_ptr<HttpServer>> ServeStatus(const std::string& listen, const Health& health,
                                                        std::function<std::string()> version_json, Metrics* metrics);

// The two of health alone on `listen`, the setting health_listen: whatever scrapers do, probes are answered.
absl::StatusOr<std::unique_ptr<HttpServer>> ServeHealth(const std::string& listen, const Health& health,
                                                        Metrics* metrics);

}  // namespace flightplan::service
