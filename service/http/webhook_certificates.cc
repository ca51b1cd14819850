#include "service/http/webhook_certificates.h"

#include <openssl/ssl.h>
#include <sys/stat.h>

#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "resolver/base/status_macros.h"

namespace flightplan::service {
namespace {

constexpr std::chrono::seconds kLookEvery{1};

struct ContextFree {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};

// A certificate chain with its key, as one, since OpenSSL checks that they belong together; with them the authority.
absl::StatusOr<std::shared_ptr<SSL_CTX>> LoadFiles(const WebhookFiles& files) {
  std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_server_method()), ContextFree());
  if (context == nullptr) return absl::InternalError("OpenSSL gives no context");
  if (SSL_CTX_use_certificate_chain_file(context.get(), files.cert_file.c_str()) != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(files.setting, "_cert_file ", files.cert_file, " holds no PEM certificate chain"));
  }
  // Not OpenSSL's own, which asks on the terminal.
  SSL_CTX_set_default_passwd_cb(context.get(), [](char*, int, int, void*) { return -1; });
  if (SSL_CTX_use_PrivateKey_file(context.get(), files.key_file.c_str(), SSL_FILETYPE_PEM) != 1) {
    return absl::InvalidArgumentError(absl::StrCat(files.setting, "_key_file ", files.key_file,
                                                   " holds no PEM private key of the certificate in ", files.cert_file,
                                                   " that needs no passphrase"));
  }
  if (!files.client_ca_file.empty() &&
      SSL_CTX_load_verify_locations(context.get(), files.client_ca_file.c_str(), nullptr) != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(files.setting, "_client_ca_file ", files.client_ca_file, " holds no PEM certificate"));
  }
  return context;
}

// Changes when a file does; a rotated Kubernetes secret changes its links, so links are followed.
std::string StampOf(const WebhookFiles& files) {
  std::string stamp;
  for (const std::string* file : {&files.cert_file, &files.key_file, &files.client_ca_file}) {
    if (file->empty()) continue;
    struct stat info {};
    if (stat(file->c_str(), &info) != 0) return "";
    absl::StrAppend(&stamp, info.st_ino, ".", info.st_mtim.tv_sec, ".", info.st_mtim.tv_nsec, ".", info.st_size, " ");
  }
  return stamp;
}

}  // namespace

WebhookCertificates::WebhookCertificates(WebhookFiles files, std::shared_ptr<SSL_CTX> first, Log* log)
    : files_(std::move(files)), log_(log), in_use_(std::move(first)), stamp_(StampOf(files_)) {}

WebhookFiles WebhookFilesOf(const Settings& settings) {
  WebhookFiles files;
  files.cert_file = settings.webhook_cert_file;
  files.key_file = settings.webhook_key_file;
  files.client_ca_file = settings.webhook_client_ca_file;
  return files;
}

absl::StatusOr<std::unique_ptr<WebhookCertificates>> WebhookCertificates::Load(WebhookFiles files, Log* log) {
  FLIGHTPLAN_ASSIGN_OR_RETURN(std::shared_ptr<SSL_CTX> first, LoadFiles(files));
  return absl::WrapUnique(new WebhookCertificates(std::move(files), std::move(first), log));
}

bool WebhookCertificates::Install(SSL_CTX* context) {
  if (!files_.client_ca_file.empty()) {
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    // A session that is taken up again brings no certificate along, and is asked for one anew.
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_num_tickets(context, 0);
    SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
  }
  SSL_CTX_set_cert_cb(context, Choose, this);
  return SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1;
}

int WebhookCertificates::Choose(SSL* ssl, void* self) {
  const std::shared_ptr<SSL_CTX> newest = static_cast<WebhookCertificates*>(self)->Newest();
  if (SSL_set1_verify_cert_store(ssl, SSL_CTX_get_cert_store(newest.get())) != 1) return 0;
  STACK_OF(X509)* chain = nullptr;
  SSL_CTX_get0_chain_certs(newest.get(), &chain);
  return SSL_use_cert_and_key(ssl, SSL_CTX_get0_certificate(newest.get()), SSL_CTX_get0_privatekey(newest.get()), chain,
                              1);
}

std::shared_ptr<SSL_CTX> WebhookCertificates::Newest() {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  if (now - looked_ < kLookEvery) return in_use_;
  looked_ = now;
  const std::string stamp = StampOf(files_);
  if (stamp.empty() || stamp == stamp_) return in_use_;
  absl::StatusOr<std::shared_ptr<SSL_CTX>> fresh = LoadFiles(files_);
  stamp_ = stamp;
  if (fresh.ok()) {
    in_use_ = *std::move(fresh);
    log_->Write(LogLevel::kInfo, absl::StrCat(files_.setting, " certificate read again"));
  } else {
    log_->Write(LogLevel::kError, absl::StrCat(files_.setting, " certificate kept"),
                {{"error", fresh.status().message()}});
  }
  return in_use_;
}

}  // namespace flightplan::service
