#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "resolver/base/reason.h"
#include "resolver/base/status_macros.h"
#include "service/web/connect_error.h"
#include "service/web/connect_shared.h"
#include "service/web/envelope.h"
#include "service/wire/raw_message.h"

namespace flightplan::service {
namespace {

// A call with a stream on either side. Its requests have all come when it starts; its answers go out one by one, the
// next is asked for when the caller has taken the last.
class StreamJob final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                        public std::enable_shared_from_this<StreamJob> {
 public:
  StreamJob(std::shared_ptr<ConnectGateway::Shared> shared, ConnectCall call,
            std::shared_ptr<const HttpRequest> request, std::shared_ptr<HttpReply> reply)
      : shared_(std::move(shared)), call_(std::move(call)), request_(std::move(request)), reply_(std::move(reply)) {}
  ~StreamJob() override { shared_->Leave(*call_.method); }

  void Start() {
    if (const absl::Status status = ReadMessages(); !status.ok()) {
      return reply_->Send(StreamError(call_, shared_->EndHere(*call_.method, status, *request_)));
    }
    Describe(call_, *request_, &context_);
    reply_->OnGone([weak = weak_from_this()] {
      if (const auto strong = weak.lock()) strong->context_.TryCancel();
    });
    self_ = shared_from_this();
    shared_->stub.PrepareBidiStreamingCall(&context_, request_->path, {}, this);
    AddHold();  // reads are started by the caller's pace
    StartRead(&incoming_);
    SendNext();
    StartCall();
  }

  void OnReadInitialMetadataDone(bool ok) override {
    if (ok) BeginAnswer();
  }
  void OnWriteDone(bool ok) override {
    if (ok) SendNext();
  }
  void OnReadDone(bool ok) override {
    if (!ok) return RemoveHold();
    BeginAnswer();
    shared_->writers.Submit([self = shared_from_this()] { self->SendAnswer(); });
  }
  void OnDone(const grpc::Status& status) override {
    shared_->writers.Submit([self = std::move(self_), status] { self->SendEnd(status); });
  }

 private:
  absl::Status ReadMessages() {
    if (call_.unread) {
      outgoing_.push_back(BufferOf(grpc::Slice(kNoMessage)));
      return absl::OkStatus();
    }
    FLIGHTPLAN_ASSIGN_OR_RETURN(const std::vector<Envelope> envelopes, ReadEnvelopes(request_->body));
    if (!call_.method->rpc->client_streaming() && envelopes.size() != 1) {
      // The codes of these two are those that the protocol's conformance suite asks for.
      return absl::UnimplementedError(
          absl::StrCat("the body has ", envelopes.size(), " messages, this method takes one"));
    }
    // Unpacked: each message is bounded by itself, and many small envelopes of one body would be so many of them.
    constexpr size_t kMostMessages = 4;  // as large as one may be
    const size_t most = kMostMessages * shared_->options.max_message_bytes;
    size_t held = 0;
    for (const Envelope& envelope : envelopes) {
      const bool packed = (envelope.flags & kEnvelopeCompressed) != 0;
      if (packed && !call_.gzip_request) {
        return WithReason(absl::InternalError("an envelope is packed, and Connect-Content-Encoding says not how"),
                          kEnvelopeInvalid);
      }
      FLIGHTPLAN_ASSIGN_OR_RETURN(grpc::ByteBuffer message, shared_->ReadMessage(call_, envelope.message, packed));
      held += message.Length();
      if (held > most) {
        return WithReason(absl::ResourceExhaustedError(
                              absl::StrCat("the messages have more than ", most, " bytes together, unpacked")),
                          kRequestTooLarge);
      }
      outgoing_.push_back(std::move(message));
    }
    return absl::OkStatus();
  }

  // One write at a time, each started when the last is done.
  void SendNext() {
    if (next_ < outgoing_.size()) return StartWrite(&outgoing_[next_++]);
    if (!std::exchange(sent_all_, true)) StartWritesDone();
  }

  // gRPC tells of the metadata and of the first message from different threads.
  void BeginAnswer() {
    const std::lock_guard<std::mutex> lock(begin_);
    if (std::exchange(begun_, true)) return;
    HttpResponse head;
    head.content_type = ContentType(call_);
    if (call_.gzip_answer) head.headers.push_back({"Connect-Content-Encoding", "gzip"});
    for (auto& [name, value] : ShownMetadata(context_.GetServerInitialMetadata())) {
      head.headers.push_back({std::move(name), std::move(value)});
    }
    reply_->Begin(std::move(head));
  }

  void SendAnswer() {
    bool packed = false;
    absl::StatusOr<std::string> message = shared_->WriteMessage(call_, incoming_, &packed);
    if (!message.ok()) {
      failed_ = message.status();
      context_.TryCancel();
      return RemoveHold();
    }
    incoming_.Clear();
    reply_->Write(WriteEnvelope(packed ? kEnvelopeCompressed : 0, *message), [self = shared_from_this()](bool taken) {
      if (!taken) {
        self->context_.TryCancel();
        return self->RemoveHold();
      }
      self->StartRead(&self->incoming_);
    });
  }

  void SendEnd(grpc::Status status) {
    BeginAnswer();
    if (!failed_.ok()) status = shared_->StatusHere(failed_, *request_);
    reply_->Write(
        WriteEnvelope(kEnvelopeEnd, EndOfStreamJson(status, ShownMetadata(context_.GetServerTrailingMetadata()))),
        nullptr);
    reply_->End();
  }

  const std::shared_ptr<ConnectGateway::Shared> shared_;
  const ConnectCall call_;
  const std::shared_ptr<const HttpRequest> request_;
  const std::shared_ptr<HttpReply> reply_;
  grpc::ClientContext context_;
  std::vector<grpc::ByteBuffer> outgoing_;
  size_t next_ = 0;
  bool sent_all_ = false;
  grpc::ByteBuffer incoming_;
  absl::Status failed_;  // of our own doing; set before the call ends
  std::mutex begin_;
  bool begun_ = false;               // guarded by begin_
  std::shared_ptr<StreamJob> self_;  // until OnDone
};

}  // namespace

void StartStream(std::shared_ptr<ConnectGateway::Shared> shared, ConnectCall call,
                 std::shared_ptr<const HttpRequest> request, std::shared_ptr<HttpReply> reply) {
  std::make_shared<StreamJob>(std::move(shared), std::move(call), std::move(request), std::move(reply))->Start();
}

}  // namespace flightplan::service
