#include "service/web/connect_gateway.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "resolver/base/reason.h"
#include "resolver/base/status_macros.h"
#include "resolver/base/utf8.h"
#include "service/web/connect_code.h"
#include "service/web/connect_error.h"
#include "service/web/connect_shared.h"
#include "service/web/envelope.h"
#include "service/web/gzip.h"
#include "service/wire/raw_message.h"

namespace flightplan::service {

absl::StatusOr<grpc::ByteBuffer> ConnectGateway::Shared::ReadMessage(const ConnectCall& call, absl::string_view sent,
                                                                     bool packed) const {
  if (call.unread) return BufferOf(grpc::Slice(kNoMessage));
  std::string unpacked;
  if (packed && !sent.empty()) {
    FLIGHTPLAN_ASSIGN_OR_RETURN(unpacked, Gunzip(sent, options.max_message_bytes));
    sent = unpacked;
  }
  if (sent.size() > options.max_message_bytes) {
    return WithReason(absl::ResourceExhaustedError(
                          absl::StrCat("the message has ", sent.size(), " bytes, at most ", options.max_message_bytes)),
                      kRequestTooLarge);
  }
  std::string bytes;
  if (call.codec == Codec::kJson) {
    FLIGHTPLAN_ASSIGN_OR_RETURN(bytes, codec.FromJson(*call.method->rpc->input_type(), sent));
    sent = bytes;
  }
  const grpc::Slice slice(sent.data(), sent.size());
  return BufferOf(slice);
}

absl::StatusOr<std::string> ConnectGateway::Shared::WriteMessage(const ConnectCall& call, const grpc::ByteBuffer& bytes,
                                                                 bool* packed) const {
  const RequestBytes whole(bytes);
  std::string text;
  if (call.codec == Codec::kJson) {
    FLIGHTPLAN_ASSIGN_OR_RETURN(text, codec.ToJson(*call.method->rpc->output_type(), whole.view()));
  } else {
    text = std::string(whole.view());
  }
  *packed = call.gzip_answer && text.size() >= kMinGzipBytes;
  return *packed ? Gzip(text) : std::move(text);
}

grpc::Status ConnectGateway::Shared::StatusHere(const absl::Status& status, const HttpRequest& request) const {
  if (options.status_here) return options.status_here(status, request);
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()));
}

grpc::Status ConnectGateway::Shared::EndHere(const ConnectMethod& method, const absl::Status& status,
                                             const HttpRequest& request) const {
  grpc::Status ended = StatusHere(status, request);
  if (options.ended_here) options.ended_here(*method.rpc, ended);
  return ended;
}

HttpResponse UnaryError(const grpc::Status& status) {
  HttpResponse response;
  response.status = ConnectCodeOf(status.error_code()).http_status;
  response.content_type = "application/json";
  response.body = ErrorJson(status);
  return response;
}

HttpResponse StreamError(const ConnectCall& call, const grpc::Status& status) {
  HttpResponse response;
  response.content_type = ContentType(call);
  response.body = WriteEnvelope(kEnvelopeEnd, EndOfStreamJson(status, {}));
  return response;
}

ConnectGateway::ConnectGateway(Options options)
    : writers_(std::make_unique<WorkerPool>(options.threads)),
      shared_(std::make_shared<Shared>(std::move(options), writers_.get())) {}
ConnectGateway::~ConnectGateway() = default;

bool ConnectGateway::Takes(absl::string_view path) const { return shared_->methods.Covers(path); }

void ConnectGateway::Refuse() { shared_->refusing = true; }

int64_t ConnectGateway::calls() const { return shared_->calls.load(std::memory_order_acquire); }

void ConnectGateway::Take(std::shared_ptr<const HttpRequest> request, std::shared_ptr<HttpReply> reply) {
  const ConnectMethod* const method = shared_->methods.Find(request->path);
  if (method == nullptr) {
    HttpResponse unknown = UnaryError(shared_->StatusHere(
        WithReason(absl::UnimplementedError(absl::StrCat("no method is called ", Utf8Clip(request->path, 128))),
                   "METHOD_UNKNOWN"),
        *request));
    unknown.status = 404;
    return reply->Send(std::move(unknown));
  }
  if (std::optional<HttpResponse> no_call = NoCall(*method, *request)) return reply->Send(*std::move(no_call));
  const auto refuse = [&](const ConnectCall& call, const absl::Status& why) {
    const grpc::Status status = shared_->EndHere(*method, why, *request);
    reply->Send(method->unary() ? UnaryError(status) : StreamError(call, status));
  };
  absl::StatusOr<ConnectCall> call = ReadCall(*method, *request);
  if (!call.ok()) {
    ConnectCall none;
    none.method = method;
    return refuse(none, call.status());
  }
  if (shared_->options.may_ask) call->unread = !shared_->options.may_ask(*method->rpc, *request);
  if (shared_->refusing) return refuse(*call, absl::UnavailableError("the server is ending"));
  if (!shared_->Enter(*method))
    return refuse(*call, absl::ResourceExhaustedError("too many calls of browsers in flight"));
  (method->unary() ? StartUnary : StartStream)(shared_, *std::move(call), std::move(request), std::move(reply));
}

}  // namespace flightplan::service
