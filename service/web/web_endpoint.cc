#include "service/web/web_endpoint.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <thread>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "grpcpp/server_builder.h"
#include "resolver/base/reason.h"
#include "resolver/base/status_macros.h"
#include "service/net/tls.h"
#include "service/observe/http_drops.h"
#include "service/web/connect_error.h"
#include "service/web/envelope.h"
#include "service/web/web_assets.h"
#include "service/wire/role.h"
#include "service/wire/status_mapping.h"

namespace flightplan::service {
namespace {

constexpr char kSetting[] = "web_listen";
constexpr size_t kQueued = 64;  // requests that wait for a thread

int Threads() { return static_cast<int>(std::max(1u, std::thread::hardware_concurrency() / 2)); }

// Faults of the bytes, as a client of the Connect protocol reads errors.
HttpResponse Complaint(int status, absl::string_view line) {
  absl::Status fault = WithReason(absl::InvalidArgumentError(line), kEnvelopeInvalid);
  if (status == 413 || status == 431) fault = WithReason(absl::ResourceExhaustedError(line), kRequestTooLarge);
  if (status == 503) fault = WithReason(absl::UnavailableError(line), "OVERLOADED");
  HttpResponse response;
  response.status = status;
  response.content_type = "application/json";
  response.body = ErrorJson(ToGrpcStatus(fault, /*request_id=*/""));
  return response;
}

// Adds headers to whatever is answered.
class WithHeaders final : public HttpReply {
 public:
  WithHeaders(std::shared_ptr<HttpReply> reply, std::vector<HttpHeader> headers)
      : reply_(std::move(reply)), headers_(std::move(headers)) {}
  void Send(HttpResponse response) override { reply_->Send(Added(std::move(response))); }
  void Begin(HttpResponse head) override { reply_->Begin(Added(std::move(head))); }
  void Write(std::string part, std::function<void(bool)> taken) override {
    reply_->Write(std::move(part), std::move(taken));
  }
  void End() override { reply_->End(); }
  void OnGone(std::function<void()> gone) override { reply_->OnGone(std::move(gone)); }

 private:
  HttpResponse Added(HttpResponse response) const {
    response.headers.insert(response.headers.end(), headers_.begin(), headers_.end());
    return response;
  }
  const std::shared_ptr<HttpReply> reply_;
  const std::vector<HttpHeader> headers_;
};

struct Routing {
  const WebPolicy* policy;
  ConnectGateway* gateway;
  std::function<void(HttpDrop)> dropped;
};

void Route(const Routing& routing, std::shared_ptr<const HttpRequest> request, std::shared_ptr<HttpReply> reply) {
  const bool call = routing.gateway->Takes(request->path);
  if (std::optional<HttpResponse> refusal = routing.policy->Refusal(*request, call)) {
    routing.dropped(HttpDrop::kForeign);
    return reply->Send(*std::move(refusal));
  }
  std::vector<HttpHeader> readable = routing.policy->ReadableBy(*request);
  if (!readable.empty()) reply = std::make_shared<WithHeaders>(std::move(reply), std::move(readable));
  if (std::optional<HttpResponse> preflight = routing.policy->Preflight(*request)) {
    return reply->Send(*std::move(preflight));
  }
  if (call) return routing.gateway->Take(std::move(request), std::move(reply));
  reply->Send(ServeAsset(BuiltInAssets(), *request));
}

// So that a stranger's message costs nothing: what it takes to read one is on threads that callers share.
bool MayAsk(const Access& access, const google::protobuf::MethodDescriptor& rpc, const HttpRequest& request) {
  Credentials credentials;
  if (const std::string* const shown = request.Header("authorization"); shown != nullptr) {
    credentials.authorization = *shown;
  } else if (!request.peer_certificate.empty()) {
    credentials.certificate = NamesIn(request.peer_certificate);
  }
  return access.Check(credentials, RequiredRole(rpc.service()->name(), rpc.name())).ok();
}

// As if the server had answered so.
void CountEndedHere(Metrics* metrics, const google::protobuf::MethodDescriptor& rpc, const grpc::Status& status) {
  const Metrics::Method* const series = metrics->ForMethod(rpc.service()->full_name(), rpc.name());
  series->started->Increment();
  series->handled[static_cast<size_t>(status.error_code())]->Increment();
}

// As the server's own would be.
grpc::Status StatusHere(const absl::Status& status, const HttpRequest& request) {
  const std::string* const id = request.Header("x-request-id");
  const std::string request_id = RequestId(id == nullptr ? absl::string_view() : *id);
  if (ReasonOf(status) != kEnvelopeInvalid) return ToGrpcStatus(status, request_id);
  // The protocol wants INTERNAL for some, whose words would be kept back from callers.
  const grpc::Status shown =
      ToGrpcStatus(WithReason(absl::InvalidArgumentError(status.message()), kEnvelopeInvalid), request_id);
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), shown.error_message(), shown.error_details());
}

std::unique_ptr<grpc::Server> ServerWithin(const WebEndpoint::Options& options,
                                           const std::vector<std::unique_ptr<grpc::Service>>& services) {
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(static_cast<int>(options.max_message_bytes));
  builder.SetMaxSendMessageSize(static_cast<int>(options.max_answer_bytes));
  for (const auto& service : services) builder.RegisterService(service.get());
  return builder.BuildAndStart();
}

std::shared_ptr<grpc::Channel> ChannelTo(grpc::Server* server, const WebEndpoint::Options& options) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetMaxReceiveMessageSize(static_cast<int>(options.max_answer_bytes));
  return server->InProcessChannel(arguments);
}

HttpServer::Options HttpOptions(const WebEndpoint::Options& options, Metrics* metrics) {
  HttpServer::Options http;
  http.listen = options.names.listen;
  http.setting = kSetting;
  http.dropped = metrics->HttpDrops(kSetting);
  http.max_connections = kWebConnections;
  http.max_body_bytes = std::max(kMaxWebBodyBytes, options.max_message_bytes);
  http.max_bodies_bytes = std::max(kMaxWebBodiesBytes, http.max_body_bytes);
  http.request_time = kWebRequestTime;
  http.answer_time = kWebAnswerTime;
  http.keep_alive = kWebKeepAlive;
  http.threads = Threads();
  http.max_queued = kQueued;
  http.chunked_bodies = true;
  http.headers = SafeHeaders();
  http.complaint = Complaint;
  return http;
}

}  // namespace

WebEndpoint::WebEndpoint() = default;
WebEndpoint::~WebEndpoint() {
  if (answers_ != nullptr) answers_->Shutdown(std::chrono::system_clock::now());
}

void WebEndpoint::Refuse() { gateway_->Refuse(); }

void WebEndpoint::AwaitCalls(absl::Time deadline) {
  constexpr absl::Duration kLookEvery = absl::Milliseconds(10);
  while (gateway_->calls() > 0 && absl::Now() < deadline) absl::SleepFor(kLookEvery);
}

absl::StatusOr<std::unique_ptr<WebEndpoint>> WebEndpoint::Start(const Options& options,
                                                                std::vector<std::unique_ptr<grpc::Service>> services,
                                                                const Edge* edge) {
  auto endpoint = absl::WrapUnique(new WebEndpoint());
  endpoint->services_ = std::move(services);
  endpoint->answers_ = ServerWithin(options, endpoint->services_);
  if (endpoint->answers_ == nullptr) return absl::InternalError("gRPC gives no server within the process");
  HttpServer::Options http = HttpOptions(options, edge->metrics);
  if (!options.tls.cert_file.empty()) {
    FLIGHTPLAN_ASSIGN_OR_RETURN(endpoint->certificates_, WebhookCertificates::Load(options.tls, edge->log));
    http.tls = [certificates = endpoint->certificates_.get()](SSL_CTX* context) {
      return certificates->Install(context);
    };
  }
  endpoint->policy_ = std::make_unique<WebPolicy>(options.names);
  ConnectGateway::Options gateway;
  gateway.channel = ChannelTo(endpoint->answers_.get(), options);
  gateway.services = options.services;
  gateway.may_ask = [access = edge->access](const google::protobuf::MethodDescriptor& rpc, const HttpRequest& request) {
    return MayAsk(*access, rpc, request);
  };
  gateway.status_here = StatusHere;
  gateway.ended_here = [metrics = edge->metrics](const google::protobuf::MethodDescriptor& rpc,
                                                 const grpc::Status& status) { CountEndedHere(metrics, rpc, status); };
  gateway.max_message_bytes = options.max_message_bytes;
  gateway.max_calls = options.max_calls;
  gateway.threads = Threads();
  endpoint->gateway_ = std::make_unique<ConnectGateway>(std::move(gateway));
  const Routing routing = {endpoint->policy_.get(), endpoint->gateway_.get(), http.dropped};
  HttpRoute any{"*", "*", nullptr, nullptr};
  any.begin = [routing](std::shared_ptr<const HttpRequest> request, std::shared_ptr<HttpReply> reply) {
    Route(routing, std::move(request), std::move(reply));
  };
  FLIGHTPLAN_ASSIGN_OR_RETURN(endpoint->server_, HttpServer::Start(std::move(http), {std::move(any)}));
  return endpoint;
}

}  // namespace flightplan::service
