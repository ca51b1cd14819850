#include <atomic>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "service/web/connect_error.h"
#include "service/web/connect_shared.h"
#include "service/wire/raw_message.h"

namespace flightplan::service {
namespace {

// One unary call, from its message to its answer. Kept by whoever it waits for.
struct UnaryJob {
  UnaryJob(std::shared_ptr<ConnectGateway::Shared> s, ConnectCall c, std::shared_ptr<const HttpRequest> r,
           std::shared_ptr<HttpReply> a)
      : shared(std::move(s)), call(std::move(c)), request(std::move(r)), reply(std::move(a)) {}
  ~UnaryJob() { shared->Leave(*call.method); }
  UnaryJob(const UnaryJob&) = delete;
  UnaryJob& operator=(const UnaryJob&) = delete;

  const std::shared_ptr<ConnectGateway::Shared> shared;
  const ConnectCall call;
  const std::shared_ptr<const HttpRequest> request;
  const std::shared_ptr<HttpReply> reply;
  grpc::ClientContext context;
  grpc::ByteBuffer asked;
  grpc::ByteBuffer answered;
  // Set before gRPC takes the job, read when it brings it back. Its own locks order the two already; ThreadSanitizer
  // sees them only in a gRPC that was built for it, and Debian's was not.
  std::atomic<bool> handed_on = false;
};

void AddMetadata(grpc::ClientContext* context, HttpResponse* response) {
  for (auto& [name, value] : ShownMetadata(context->GetServerInitialMetadata())) {
    response->headers.push_back({std::move(name), std::move(value)});
  }
  for (auto& [name, value] : ShownMetadata(context->GetServerTrailingMetadata())) {
    response->headers.push_back({absl::StrCat("trailer-", name), std::move(value)});
  }
}

void Answer(UnaryJob* job, grpc::Status status) {
  HttpResponse response;
  if (status.ok()) {
    bool packed = false;
    absl::StatusOr<std::string> body = job->shared->WriteMessage(job->call, job->answered, &packed);
    if (body.ok()) {
      response.content_type = ContentType(job->call);
      response.body = *std::move(body);
      if (packed) response.headers.push_back({"Content-Encoding", "gzip"});
      if (job->call.get) response.headers.push_back({"Vary", "Accept-Encoding"});
    } else {
      status = job->shared->StatusHere(body.status(), *job->request);
    }
  }
  if (!status.ok()) response = UnaryError(status);
  AddMetadata(&job->context, &response);
  job->reply->Send(std::move(response));
}

}  // namespace

void StartUnary(std::shared_ptr<ConnectGateway::Shared> shared, ConnectCall call,
                std::shared_ptr<const HttpRequest> request, std::shared_ptr<HttpReply> reply) {
  auto job = std::make_shared<UnaryJob>(std::move(shared), std::move(call), std::move(request), std::move(reply));
  const absl::string_view sent = job->call.get ? job->call.query_message : job->request->body;
  absl::StatusOr<grpc::ByteBuffer> asked = job->shared->ReadMessage(job->call, sent, job->call.gzip_request);
  if (!asked.ok()) {
    return job->reply->Send(UnaryError(job->shared->EndHere(*job->call.method, asked.status(), *job->request)));
  }
  job->asked = *std::move(asked);
  Describe(job->call, *job->request, &job->context);
  job->reply->OnGone([weak = std::weak_ptr(job)] {
    if (const auto strong = weak.lock()) strong->context.TryCancel();
  });
  job->handed_on.store(true, std::memory_order_release);
  // On a thread of gRPC: what it costs to write the answer is not gRPC's.
  job->shared->stub.UnaryCall(&job->context, job->request->path, {}, &job->asked, &job->answered,
                              [job](const grpc::Status& status) mutable {
                                if (!job->handed_on.load(std::memory_order_acquire)) return;
                                WorkerPool& writers = job->shared->writers;
                                writers.Submit([job = std::move(job), status] { Answer(job.get(), status); });
                              });
}

}  // namespace flightplan::service
