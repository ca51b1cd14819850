#include "service/http/http_endpoint.h"

#include <utility>
#include <vector>

namespace flightplan::service {
namespace {

constexpr char kMetricsType[] = "text/plain; version=0.0.4; charset=utf-8";

HttpRoute Says(std::string path, const std::function<bool()>& holds, const char* yes, const char* no) {
  return {"GET", std::move(path), [=](const HttpRequest&) {
            HttpResponse response;
            const bool now = holds();
            response.status = now ? 200 : 503;
            response.body = now ? yes : no;
            return response;
          }};
}

std::vector<HttpRoute> HealthRoutes(const Health& health) {
  return {Says("/healthz", health.alive, "ok\n", "no connection is accepted any more\n"),
          Says("/readyz", health.ready, "ready\n", "not ready\n")};
}

HttpRoute Shows(std::string path, const char* type, std::function<std::string()> text) {
  return {"GET", std::move(path), [type, text = std::move(text)](const HttpRequest&) {
            HttpResponse response;
            response.content_type = type;
            response.body = text();
            return response;
          }};
}

HttpServer::Options On(const std::string& listen, const char* setting, Metrics* metrics) {
  HttpServer::Options options;
  options.listen = listen;
  options.setting = setting;
  options.dropped = metrics->HttpDrops(setting);
  return options;
}

}  // namespace

absl::StatusOr<std::unique_ptr<HttpServer>> ServeStatus(const std::string& listen, const Health& health,
                                                        std::function<std::string()> version_json, Metrics* metrics) {
  std::vector<HttpRoute> routes = HealthRoutes(health);
  routes.push_back(Shows("/metrics", kMetricsType, [metrics] { return metrics->Text(); }));
  routes.push_back(Shows("/version", "application/json", std::move(version_json)));
  return HttpServer::Start(On(listen, "http_listen", metrics), std::move(routes));
}

absl::StatusOr<std::unique_ptr<HttpServer>> ServeHealth(const std::string& listen, const Health& health,
                                                        Metrics* metrics) {
  return HttpServer::Start(On(listen, "health_listen", metrics), HealthRoutes(health));
}

}  // namespace flightplan::service
