// The port for browsers and curl, the setting web_listen: calls of the Connect protocol and the page, with threads and
// bounds of its own, so that whatever comes here takes nothing from gRPC or health.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "grpcpp/channel.h"
#include "service/call/call.h"
#include "service/http/http_server.h"
#include "service/http/webhook_certificates.h"
#include "service/web/connect_door.h"
#include "service/web/web_policy.h"

namespace flightplan::service {

inline constexpr size_t kMaxWebBodyBytes = size_t{1} << 20;
inline constexpr size_t kMaxWebBodiesBytes = size_t{32} << 20;  // read or answered at a time
inline constexpr size_t kWebConnections = 256;

class WebEndpoint {
 public:
  struct Options {
    WebNames names;                     // with the address to listen on
    WebhookFiles tls;                   // no certificate: plain text
    std::vector<std::string> services;  // full names
    size_t max_message_bytes = kMaxWebBodyBytes;
    int64_t max_calls = 64;  // at once
  };
  // `channel` leads to the gRPC server of this process. INVALID_ARGUMENT: a certificate or key that cannot be used, an
  // address that is none; UNAVAILABLE: the address is taken. `edge` must outlive the endpoint.
  static absl::StatusOr<std::unique_ptr<WebEndpoint>> Start(const Options& options,
                                                            std::shared_ptr<grpc::Channel> channel, const Edge* edge);
  // Calls under way are answered first: end them before, by ending the server that answers.
  ~WebEndpoint();

  int port() const { return server_->port(); }

 private:
  WebEndpoint();

  std::unique_ptr<WebhookCertificates> certificates_;
  std::unique_ptr<WebPolicy> policy_;
  std::unique_ptr<ConnectDoor> door_;
  std::unique_ptr<HttpServer> server_;
};

}  // namespace flightplan::service
