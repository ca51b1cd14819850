// The port for browsers and curl, the setting web_listen: calls of the Connect protocol and the page, with threads and
// bounds of its own, so that whatever comes here takes nothing from gRPC or health.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "grpcpp/impl/service_type.h"
#include "grpcpp/server.h"
#include "service/call/call.h"
#include "service/http/http_server.h"
#include "service/http/webhook_certificates.h"
#include "service/web/connect_gateway.h"
#include "service/web/web_policy.h"

namespace flightplan::service {

inline constexpr size_t kMaxWebBodyBytes = size_t{1} << 20;
inline constexpr size_t kMaxWebBodiesBytes = size_t{32} << 20;  // read or answered at a time
inline constexpr size_t kWebConnections = 256;
inline constexpr absl::Duration kWebRequestTime = absl::Seconds(10);  // see HttpServer::Options
inline constexpr absl::Duration kWebAnswerTime = absl::Seconds(30);
inline constexpr absl::Duration kWebKeepAlive = absl::Seconds(60);

class WebEndpoint {
 public:
  struct Options {
    WebNames names;                     // with the address to listen on
    WebhookFiles tls;                   // no certificate: plain text
    std::vector<std::string> services;  // full names of those that are asked
    size_t max_message_bytes = kMaxWebBodyBytes;
    size_t max_answer_bytes = size_t{4} << 20;
    int64_t max_calls = 64;  // at once
  };
  // `services`: those that gRPC's callers meet, of the same parts. INVALID_ARGUMENT: a certificate or key that cannot
  // be used, an address that is none; UNAVAILABLE: the address is taken. `edge` must outlive the endpoint.
  static absl::StatusOr<std::unique_ptr<WebEndpoint>> Start(const Options& options,
                                                            std::vector<std::unique_ptr<grpc::Service>> services,
                                                            const Edge* edge);
  // Ends what is under way.
  ~WebEndpoint();

  // New calls are told UNAVAILABLE from here on.
  void Refuse();
  // Returns when no call is under way, or at `deadline`. After Refuse.
  void AwaitCalls(absl::Time deadline);

  int port() const { return server_->port(); }

 private:
  WebEndpoint();

  // Has no port: it is asked through a channel of this process. Not the server of gRPC's own port, since one that is
  // told to end closes such a channel at once, with the calls on it.
  std::vector<std::unique_ptr<grpc::Service>> services_;
  std::unique_ptr<grpc::Server> answers_;
  std::unique_ptr<WebhookCertificates> certificates_;
  std::unique_ptr<WebPolicy> policy_;
  std::unique_ptr<ConnectGateway> gateway_;
  std::unique_ptr<HttpServer> server_;
};

}  // namespace flightplan::service
