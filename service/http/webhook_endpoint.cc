#include "service/http/webhook_endpoint.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/base/status_macros.h"
#include "resolver/base/work.h"
#include "service/call/decision_log.h"
#include "service/http/review_stop.h"
#include "service/observe/log_text.h"

namespace flightplan::service {
namespace {

constexpr char kPath[] = "/admission/v1/validate";
constexpr size_t kWebhookConnections = 256;
constexpr size_t kWebhookQueue = 32;

// What a review needs; one for the life of the endpoint.
struct ReviewContext {
  WebhookEndpoint::Options options;
  CatalogInForce catalog;
  AnswerSource* answers;
  const Edge* edge;
};

struct Reviewed {
  doors::Review review;
  std::optional<Answer> answer;  // empty: nothing was asked
};

absl::StatusOr<Reviewed> ReviewObject(const ReviewContext& context, const doors::AdmissionRequest& admission,
                                      const ReviewStop& stop) {
  v1::ValidateConfigRequest request;
  const doors::Question question =
      doors::AskAboutWorkload(admission, context.options.releases, *context.catalog(), &request);
  if (question.skip.has_value()) {
    // Its reader only knows that it was to stop.
    const bool left = question.skip->unread && Work::Abandoned();
    return Reviewed{left ? doors::Unread(stop.Why()) : doors::NotAsked(*question.skip), {}};
  }
  request.set_view(v1::ANSWER_VIEW_VERDICT);
  absl::StatusOr<Answer> answer = context.answers->Validate(request);
  if (answer.status().code() == absl::StatusCode::kInvalidArgument) {
    return Reviewed{doors::Unread(answer.status().message()), {}};
  }
  if (absl::IsCancelled(answer.status()) && Work::Abandoned()) return Reviewed{doors::Unread(stop.Why()), {}};
  FLIGHTPLAN_RETURN_IF_ERROR(answer.status());
  v1::ValidateConfigResponse response;
  const grpc::Slice& bytes = answer->stored->bytes;
  if (!response.ParseFromArray(bytes.begin(), static_cast<int>(bytes.size()))) {
    return absl::InternalError("an answer that cannot be read");
  }
  return Reviewed{doors::ReviewOf(question, response), *std::move(answer)};
}

void Count(const ReviewContext& context, absl::string_view verdict) {
  context.edge->metrics->CountDoorReview(
      absl::StrCat("kubernetes/", doors::ModeWord(context.options.policy.mode), "/", verdict));
}

// What becomes of the object, for every record of it.
struct Outcome {
  absl::string_view verdict;
  bool allowed;
};

Outcome OutcomeOf(const ReviewContext& context, const absl::StatusOr<Reviewed>& reviewed) {
  if (!reviewed.ok()) return {"failed", doors::AllowsFailed(context.options.policy)};
  return {doors::VerdictWord(reviewed->review.verdict), doors::Allows(reviewed->review, context.options.policy)};
}

void LogReview(const ReviewContext& context, const doors::AdmissionRequest& admission,
               const absl::StatusOr<Reviewed>& reviewed, Outcome outcome) {
  context.edge->log->Write(reviewed.ok() ? LogLevel::kInfo : LogLevel::kError, "admission",
                           {{"kind", admission.workload.kind},
                            {"object", admission.name},
                            {"verdict", outcome.verdict},
                            {"mode", doors::ModeWord(context.options.policy.mode)},
                            {"decision", reviewed.ok() ? reviewed->review.digest : ""},
                            {"error", reviewed.ok() ? "" : MaskQuoted(reviewed.status().message())}});
}

void LogDecision(const ReviewContext& context, const doors::AdmissionRequest& admission,
                 const absl::StatusOr<Reviewed>& reviewed, Outcome outcome, double seconds) {
  if (!context.edge->decisions->enabled()) return;
  const std::string object = absl::StrCat(admission.workload.kind, " ", admission.name);
  const std::string request_id = RequestId(admission.uid);
  // Both may quote the object, which may hold secrets.
  const std::string reason = MaskQuoted(!reviewed.ok() ? std::string(reviewed.status().message())
                                        : reviewed->review.verdict == doors::Verdict::kNotJudged
                                            ? absl::StrJoin(reviewed->review.not_judged, "; ")
                                            : "");
  DecisionDoor door{.door = "kubernetes",
                    .mode = doors::ModeWord(context.options.policy.mode),
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
  context.edge->decisions->Write(entry);
}

HttpResponse Handle(const ReviewContext& context, const HttpRequest& http, const ReviewStop& stop) {
  const auto start = std::chrono::steady_clock::now();
  const Work work(kMaxReviewWork, [&stop] { return stop.Stopped(); });
  doors::AdmissionRequest admission;
  if (const absl::Status status = doors::ParseAdmissionReview(http.body, &admission); !status.ok()) {
    Count(context, "failed");
    return {400, "text/plain", absl::StrCat(status.message(), "\n")};
  }
  const absl::StatusOr<Reviewed> reviewed = ReviewObject(context, admission, stop);
  const Outcome outcome = OutcomeOf(context, reviewed);
  Count(context, outcome.verdict);
  LogReview(context, admission, reviewed, outcome);
  LogDecision(context, admission, reviewed, outcome,
              std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  return {200, "application/json",
          reviewed.ok() ? doors::RenderAdmissionReview(admission, reviewed->review, context.options.policy)
                        : doors::RenderFailedReview(admission, reviewed.status().message(), context.options.policy)};
}

}  // namespace

WebhookEndpoint::WebhookEndpoint() = default;
WebhookEndpoint::~WebhookEndpoint() = default;

absl::StatusOr<std::unique_ptr<WebhookEndpoint>> WebhookEndpoint::Start(const Options& options, CatalogInForce catalog,
                                                                        AnswerSource* answers, const Edge* edge) {
  auto endpoint = absl::WrapUnique(new WebhookEndpoint());
  FLIGHTPLAN_ASSIGN_OR_RETURN(endpoint->certificates_, WebhookCertificates::Load(options.files, edge->log));
  HttpServer::Options http;
  http.listen = options.listen;
  http.setting = "webhook_listen";
  http.dropped = edge->metrics->HttpDrops(http.setting);
  http.tls = [certificates = endpoint->certificates_.get()](SSL_CTX* context) {
    return certificates->Install(context);
  };
  http.max_connections = kWebhookConnections;
  http.max_body_bytes = kMaxAdmissionBytes;
  http.max_bodies_bytes = kMaxAdmissionsBytes;
  http.keep_alive = kWebhookKeepAlive;
  http.threads = static_cast<int>(std::max(2u, std::thread::hardware_concurrency()));
  http.max_queued = kWebhookQueue;
  auto context = std::make_shared<const ReviewContext>(ReviewContext{options, std::move(catalog), answers, edge});
  HttpRoute review{"POST", kPath, nullptr, nullptr};
  review.begin = [context](const std::shared_ptr<const HttpRequest>& request, const std::shared_ptr<HttpReply>& reply) {
    const auto stop = std::make_shared<ReviewStop>();
    reply->OnGone([stop] { stop->CallerGone(); });
    reply->Send(Handle(*context, *request, *stop));
  };
  std::vector<HttpRoute> routes = {std::move(review), {"GET", "/healthz", [](const HttpRequest&) {
                                                         return HttpResponse{200, "text/plain", "ok\n"};
                                                       }}};
  FLIGHTPLAN_ASSIGN_OR_RETURN(endpoint->server_, HttpServer::Start(std::move(http), std::move(routes)));
  return endpoint;
}

}  // namespace flightplan::service
