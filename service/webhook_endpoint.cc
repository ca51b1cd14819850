#include "service/webhook_endpoint.h"

#include <httplib.h>
#include <openssl/ssl.h>
#include <sys/stat.h>

#include <chrono>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/base/status_macros.h"
#include "service/decision_log.h"
#include "service/log_text.h"

namespace flightplan::service {
namespace {

constexpr time_t kIdleSeconds = 5;
constexpr std::chrono::seconds kLookEvery{1};

struct ContextFree {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};

// A certificate chain with its key, as one: OpenSSL checks that they belong together.
absl::StatusOr<std::shared_ptr<SSL_CTX>> LoadPair(const std::string& cert_file, const std::string& key_file) {
  std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_server_method()), ContextFree());
  if (context == nullptr) return absl::InternalError("OpenSSL gives no context");
  if (SSL_CTX_use_certificate_chain_file(context.get(), cert_file.c_str()) != 1) {
    return absl::InvalidArgumentError(absl::StrCat("webhook_cert_file ", cert_file, " holds no PEM certificate chain"));
  }
  if (SSL_CTX_use_PrivateKey_file(context.get(), key_file.c_str(), SSL_FILETYPE_PEM) != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("webhook_key_file ", key_file, " holds no PEM private key of the certificate in ", cert_file));
  }
  return context;
}

// Changes when either file does; a rotated Kubernetes secret changes its links, so links are followed.
std::string StampOf(const std::string& cert_file, const std::string& key_file) {
  std::string stamp;
  for (const std::string& file : {cert_file, key_file}) {
    struct stat info {};
    if (stat(file.c_str(), &info) != 0) return "";
    absl::StrAppend(&stamp, info.st_ino, ".", info.st_mtim.tv_sec, ".", info.st_mtim.tv_nsec, ".", info.st_size, " ");
  }
  return stamp;
}

struct HostPort {
  std::string host;
  int port = -1;
};

absl::StatusOr<HostPort> ParseListen(const std::string& listen) {
  HostPort address;
  const size_t colon = listen.rfind(':');
  if (colon == std::string::npos || !absl::SimpleAtoi(listen.substr(colon + 1), &address.port) || address.port < 0 ||
      address.port > 65535) {
    return absl::InvalidArgumentError(
        absl::StrCat("webhook_listen is '", listen, "', must be HOST:PORT such as 0.0.0.0:8443"));
  }
  absl::string_view host = absl::string_view(listen).substr(0, colon);
  if (absl::ConsumePrefix(&host, "[")) absl::ConsumeSuffix(&host, "]");
  address.host = std::string(host);
  return address;
}

constexpr char kPath[] = "/admission/v1/validate";

// What a review needs; one for the life of the endpoint.
struct Desk {
  WebhookEndpoint::Options options;
  std::shared_ptr<const Catalog> catalog;
  AnswerSource* answers;
  const Edge* edge;
};

struct Reviewed {
  doors::Review review;
  std::optional<Answer> answer;  // empty: nothing was asked
};

absl::StatusOr<Reviewed> ReviewObject(const Desk& desk, const doors::AdmissionRequest& admission) {
  v1::ValidateConfigRequest request;
  const doors::Question question = doors::AskAboutWorkload(admission, desk.options.releases, *desk.catalog, &request);
  if (!question.not_judged.empty()) return Reviewed{doors::NotJudged(question.not_judged), {}};
  absl::StatusOr<Answer> answer = desk.answers->Validate(request);
  if (answer.status().code() == absl::StatusCode::kInvalidArgument) {
    return Reviewed{doors::NotJudged(answer.status().message()), {}};
  }
  FLIGHTPLAN_RETURN_IF_ERROR(answer.status());
  v1::ValidateConfigResponse response;
  const grpc::Slice& bytes = answer->stored->bytes;
  if (!response.ParseFromArray(bytes.begin(), static_cast<int>(bytes.size()))) {
    return absl::InternalError("an answer that cannot be read");
  }
  return Reviewed{doors::ReviewOf(question, response), *std::move(answer)};
}

void Count(const Desk& desk, absl::string_view verdict) {
  desk.edge->metrics->CountDoorReview(absl::StrCat("kubernetes/", doors::ModeWord(desk.options.mode), "/", verdict));
}

// What becomes of the object, for every record of it.
struct Outcome {
  absl::string_view verdict;
  bool allowed;
};

Outcome OutcomeOf(const Desk& desk, const absl::StatusOr<Reviewed>& reviewed) {
  const doors::Mode mode = desk.options.mode;
  if (!reviewed.ok()) return {"failed", doors::AllowsFailed(mode, desk.options.fail_closed)};
  return {doors::VerdictWord(reviewed->review.verdict), doors::Allows(reviewed->review, mode)};
}

void LogReview(const Desk& desk, const doors::AdmissionRequest& admission, const absl::StatusOr<Reviewed>& reviewed,
               Outcome outcome) {
  desk.edge->log->Write(reviewed.ok() ? LogLevel::kInfo : LogLevel::kError, "admission",
                        {{"kind", admission.workload.kind},
                         {"object", admission.name},
                         {"verdict", outcome.verdict},
                         {"mode", doors::ModeWord(desk.options.mode)},
                         {"decision", reviewed.ok() ? reviewed->review.digest : ""},
                         {"error", reviewed.ok() ? "" : reviewed.status().message()}});
}

void LogDecision(const Desk& desk, const doors::AdmissionRequest& admission, const absl::StatusOr<Reviewed>& reviewed,
                 Outcome outcome, double seconds) {
  if (!desk.edge->decisions->enabled()) return;
  const std::string object = absl::StrCat(admission.workload.kind, " ", admission.name);
  const std::string request_id = RequestId(admission.uid);
  // Both may quote the object, which may hold secrets.
  const std::string reason = MaskQuoted(!reviewed.ok() ? std::string(reviewed.status().message())
                                        : reviewed->review.verdict == doors::Verdict::kNotJudged
                                            ? absl::StrJoin(reviewed->review.not_judged, "; ")
                                            : "");
  DecisionDoor door{.door = "kubernetes",
                    .mode = doors::ModeWord(desk.options.mode),
                    .verdict = outcome.verdict,
                    .object = absl::StripAsciiWhitespace(object),
                    .user = admission.user,
                    .allowed = outcome.allowed,
                    .dry_run = admission.dry_run,
                    .reason = reason};
  DecisionEntry entry{.rpc = kPath, .request_id = request_id, .seconds = seconds, .door = &door};
  if (reviewed.ok()) {
    for (const doors::FindingLine& line : reviewed->review.lines) door.findings.push_back(line.rule_id);
    if (reviewed->answer.has_value()) entry.answer = &*reviewed->answer;
  }
  desk.edge->decisions->Write(entry);
}

void Handle(const Desk& desk, const httplib::Request& http, httplib::Response& response) {
  const auto start = std::chrono::steady_clock::now();
  doors::AdmissionRequest admission;
  if (const absl::Status status = doors::ParseAdmissionReview(http.body, &admission); !status.ok()) {
    Count(desk, "failed");
    response.status = 400;
    response.set_content(absl::StrCat(status.message(), "\n"), "text/plain");
    return;
  }
  const doors::Mode mode = desk.options.mode;
  const absl::StatusOr<Reviewed> reviewed = ReviewObject(desk, admission);
  const Outcome outcome = OutcomeOf(desk, reviewed);
  Count(desk, outcome.verdict);
  LogReview(desk, admission, reviewed, outcome);
  LogDecision(desk, admission, reviewed, outcome,
              std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  response.set_content(
      reviewed.ok() ? doors::RenderAdmissionReview(admission, reviewed->review, mode)
                    : doors::RenderFailedReview(admission, reviewed.status().message(), mode, desk.options.fail_closed),
      "application/json");
}

}  // namespace

// The pair in use. Each handshake takes the newest that works; a bad new one leaves the old in place.
class WebhookEndpoint::Certificates {
 public:
  Certificates(std::string cert_file, std::string key_file, std::shared_ptr<SSL_CTX> first, Log* log)
      : cert_file_(std::move(cert_file)),
        key_file_(std::move(key_file)),
        log_(log),
        pair_(std::move(first)),
        stamp_(StampOf(cert_file_, key_file_)) {}

  // OpenSSL's cert_cb. 1: go on.
  static int Choose(SSL* ssl, void* self) { return static_cast<Certificates*>(self)->Install(ssl); }

 private:
  int Install(SSL* ssl) {
    const std::shared_ptr<SSL_CTX> pair = Newest();
    STACK_OF(X509)* chain = nullptr;
    SSL_CTX_get0_chain_certs(pair.get(), &chain);
    return SSL_use_cert_and_key(ssl, SSL_CTX_get0_certificate(pair.get()), SSL_CTX_get0_privatekey(pair.get()), chain,
                                1);
  }

  std::shared_ptr<SSL_CTX> Newest() {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (now - looked_ < kLookEvery) return pair_;
    looked_ = now;
    const std::string stamp = StampOf(cert_file_, key_file_);
    if (stamp.empty() || stamp == stamp_) return pair_;
    absl::StatusOr<std::shared_ptr<SSL_CTX>> fresh = LoadPair(cert_file_, key_file_);
    stamp_ = stamp;
    if (fresh.ok()) {
      pair_ = *std::move(fresh);
      log_->Write(LogLevel::kInfo, "webhook certificate read again");
    } else {
      log_->Write(LogLevel::kError, "webhook certificate kept", {{"error", fresh.status().message()}});
    }
    return pair_;
  }

  const std::string cert_file_, key_file_;
  Log* const log_;
  std::mutex mutex_;
  std::shared_ptr<SSL_CTX> pair_;
  std::string stamp_;
  std::chrono::steady_clock::time_point looked_ = std::chrono::steady_clock::now();
};

WebhookEndpoint::WebhookEndpoint() = default;

WebhookEndpoint::~WebhookEndpoint() {
  if (server_ != nullptr) server_->stop();
  if (thread_.joinable()) thread_.join();
}

absl::StatusOr<std::unique_ptr<WebhookEndpoint>> WebhookEndpoint::Start(const Options& options,
                                                                        std::shared_ptr<const Catalog> catalog,
                                                                        AnswerSource* answers, const Edge* edge) {
  FLIGHTPLAN_ASSIGN_OR_RETURN(const HostPort address, ParseListen(options.listen));
  FLIGHTPLAN_ASSIGN_OR_RETURN(std::shared_ptr<SSL_CTX> pair, LoadPair(options.cert_file, options.key_file));
  auto endpoint = absl::WrapUnique(new WebhookEndpoint());
  endpoint->certificates_ =
      std::make_unique<Certificates>(options.cert_file, options.key_file, std::move(pair), edge->log);
  endpoint->server_ = std::make_unique<httplib::SSLServer>([&endpoint](SSL_CTX& context) {
    SSL_CTX_set_cert_cb(&context, Certificates::Choose, endpoint->certificates_.get());
    return SSL_CTX_set_min_proto_version(&context, TLS1_2_VERSION) == 1;
  });
  httplib::SSLServer& server = *endpoint->server_;
  if (!server.is_valid()) return absl::InternalError("OpenSSL gives no TLS server");
  server.new_task_queue = [] { return new httplib::ThreadPool(kWebhookThreads); };
  server.set_read_timeout(kIdleSeconds);
  server.set_write_timeout(kIdleSeconds);
  server.set_keep_alive_timeout(kIdleSeconds);
  server.set_payload_max_length(kMaxAdmissionBytes);
  server.set_socket_options([](socket_t socket) {
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  });
  auto desk = std::make_shared<const Desk>(Desk{options, std::move(catalog), answers, edge});
  server.Post(kPath, [desk](const httplib::Request& request, httplib::Response& response) {
    Handle(*desk, request, response);
  });
  server.Get("/healthz",
             [](const httplib::Request&, httplib::Response& response) { response.set_content("ok\n", "text/plain"); });
  endpoint->port_ = address.port == 0                                 ? server.bind_to_any_port(address.host)
                    : server.bind_to_port(address.host, address.port) ? address.port
                                                                      : -1;
  if (endpoint->port_ < 0) {
    return absl::UnavailableError(absl::StrCat("cannot listen on ", options.listen, " for the webhook; is it in use?"));
  }
  endpoint->thread_ = std::thread([&server] { server.listen_after_bind(); });
  while (!server.is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return endpoint;
}

}  // namespace flightplan::service
