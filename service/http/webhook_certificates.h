// The certificate of the webhook's HTTPS port, and the authority that its callers' certificates must come from. Files
// may change while the server runs: each handshake takes the newest that work.
#pragma once

#include <openssl/ossl_typ.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "service/observe/log.h"
#include "service/settings/settings.h"

namespace flightplan::service {

struct WebhookFiles {
  std::string cert_file, key_file;  // PEM
  std::string client_ca_file;       // PEM; empty: any client that reaches the port may ask
  std::string setting = "webhook";  // how the names of the three settings begin, for errors: "webhook_cert_file"
};

// The webhook's own.
WebhookFiles WebhookFilesOf(const Settings& settings);

class WebhookCertificates {
 public:
  // INVALID_ARGUMENT names the setting and the file that cannot be used. `log` must outlive this object.
  static absl::StatusOr<std::unique_ptr<WebhookCertificates>> Load(WebhookFiles files, Log* log);

  // Makes the handshakes of `context` ask this object, which must outlive it. False: OpenSSL does not want to.
  bool Install(SSL_CTX* context);

 private:
  WebhookCertificates(WebhookFiles files, std::shared_ptr<SSL_CTX> first, Log* log);

  // OpenSSL's cert_cb. 1: go on.
  static int Choose(SSL* ssl, void* self);
  std::shared_ptr<SSL_CTX> Newest();

  const WebhookFiles files_;
  Log* const log_;
  std::mutex mutex_;
  std::shared_ptr<SSL_CTX> in_use_;  // this and what follows guarded by mutex_
  std::string stamp_;
  std::chrono::steady_clock::time_point looked_ = std::chrono::steady_clock::now();
};

}  // namespace flightplan::service
