#include "service/http_endpoint.h"

#include <httplib.h>

#include <chrono>

#include "absl/memory/memory.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace flightplan::service {
namespace {

constexpr char kMetricsType[] = "text/plain; version=0.0.4; charset=utf-8";
constexpr int kThreads = 2;
constexpr time_t kIdleSeconds = 5;

httplib::Server::Handler Says(const std::function<bool()>& holds, const char* yes, const char* no) {
  return [=](const httplib::Request&, httplib::Response& response) {
    const bool now = holds();
    response.status = now ? 200 : 503;
    response.set_content(now ? yes : no, "text/plain");
  };
}

void Route(const HttpEndpoint::Options& options, Metrics* metrics, httplib::Server* server) {
  server->Get("/metrics", [metrics](const httplib::Request&, httplib::Response& response) {
    response.set_content(metrics->Text(), kMetricsType);
  });
  server->Get("/healthz", Says(options.alive, "ok\n", "no connection is accepted any more\n"));
  server->Get("/readyz", Says(options.ready, "ready\n", "not ready\n"));
  server->Get("/version", [version = options.version_json](const httplib::Request&, httplib::Response& response) {
    response.set_content(version(), "application/json");
  });
}

}  // namespace

HttpEndpoint::HttpEndpoint() : server_(std::make_unique<httplib::Server>()) {}

HttpEndpoint::~HttpEndpoint() {
  server_->stop();
  if (thread_.joinable()) thread_.join();
}

absl::StatusOr<std::unique_ptr<HttpEndpoint>> HttpEndpoint::Start(const Options& options, Metrics* metrics) {
  const size_t colon = options.listen.rfind(':');
  int port = -1;
  if (colon == std::string::npos || !absl::SimpleAtoi(options.listen.substr(colon + 1), &port) || port < 0 ||
      port > 65535) {
    return absl::InvalidArgumentError(
        absl::StrCat("http_listen is '", options.listen, "', must be HOST:PORT such as 127.0.0.1:9464"));
  }
  absl::string_view host = absl::string_view(options.listen).substr(0, colon);
  if (absl::ConsumePrefix(&host, "[")) absl::ConsumeSuffix(&host, "]");

  auto endpoint = absl::WrapUnique(new HttpEndpoint());
  httplib::Server& server = *endpoint->server_;
  server.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
  server.set_read_timeout(kIdleSeconds);
  server.set_write_timeout(kIdleSeconds);
  server.set_keep_alive_timeout(kIdleSeconds);
  server.set_payload_max_length(1024);
  // The library's own choice is SO_REUSEPORT, with which two servers share a port without a word.
  server.set_socket_options([](socket_t socket) {
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  });
  Route(options, metrics, &server);
  const std::string host_text(host);
  endpoint->port_ = port == 0 ? server.bind_to_any_port(host_text) : server.bind_to_port(host_text, port) ? port : -1;
  if (endpoint->port_ < 0) {
    return absl::UnavailableError(absl::StrCat("cannot listen on ", options.listen, " for HTTP; is it in use?"));
  }
  endpoint->thread_ = std::thread([&server] { server.listen_after_bind(); });
  // stop() does nothing before the loop runs, and the destructor would then wait for ever.
  while (!server.is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return endpoint;
}

}  // namespace flightplan::service
