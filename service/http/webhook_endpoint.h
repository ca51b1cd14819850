// The Kubernetes door: a ValidatingAdmissionWebhook in the server's own HTTPS port, POST /admission/v1/validate.
// Each review stands in the log, the metrics and the decision log.
// In this process rather than in an adapter beside it: one less thing to deploy, to keep up and to wait for, and its
// answers come from the same cache as the rpcs'.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "service/call/answer_source.h"
#include "service/call/call.h"
#include "service/doors/admission_review.h"
#include "service/http/http_server.h"
#include "service/http/webhook_certificates.h"

namespace flightplan::service {

inline constexpr size_t kMaxAdmissionBytes = size_t{4} << 20;    // etcd holds 1.5 MiB; a review carries two objects
inline constexpr size_t kMaxAdmissionsBytes = size_t{32} << 20;  // that are read or judged at a time
inline constexpr absl::Duration kWebhookKeepAlive = absl::Seconds(60);  // the API server keeps its connections
// Of one review, in units of base/work.h: a tenth of a second. Of those who create jobs nobody keeps the others'
// waiting.
inline constexpr uint64_t kMaxReviewWork = uint64_t{1} << 26;

// The catalogue that counts now; it is read again on SIGHUP.
using CatalogInForce = std::function<std::shared_ptr<const Catalog>()>;

class WebhookEndpoint {
 public:
  struct Options {
    std::string listen;  // HOST:PORT, port 0: any free one
    WebhookFiles files;
    doors::Policy policy;
    std::vector<std::string> releases;  // "megatron-lm@0.17"
  };
  // Everything must outlive the endpoint. INVALID_ARGUMENT: a certificate or key that cannot be used, an address that
  // is none; UNAVAILABLE: the address is taken.
  static absl::StatusOr<std::unique_ptr<WebhookEndpoint>> Start(const Options& options, CatalogInForce catalog,
                                                                AnswerSource* answers, const Edge* edge);
  ~WebhookEndpoint();

  int port() const { return server_->port(); }

 private:
  WebhookEndpoint();

  std::unique_ptr<WebhookCertificates> certificates_;
  std::unique_ptr<HttpServer> server_;
};

}  // namespace flightplan::service
