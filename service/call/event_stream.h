// Writes the answer of an rpc that streams progress and then a result. A pool task's messages are written in order, one
// at a time, and the call ends after the last one.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "google/protobuf/message_lite.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "service/call/call.h"
#include "service/call/stream_reactor.h"

namespace flightplan::service {

// Shared by gRPC (until OnDone) and the task, which must hold a pointer of its own. All methods may be called from any
// thread.
class EventStream : public StreamReactor<grpc::ServerWriteReactor<grpc::ByteBuffer>> {
 public:
  EventStream(const Edge& edge, const Metrics::Method& method, grpc::CallbackServerContext* context)
      : StreamReactor(edge, method, context) {}

  void OnWriteDone(bool ok) final;

 protected:
  // Until the call has ended.
  Call& call() { return *call_; }

  // gRPC's share of this object, given up in OnDone. From here on the call ends at its deadline, also where nobody
  // reads.
  void Begin(std::shared_ptr<EventStream> self);
  // Progress; dropped while an earlier message waits, so that a slow reader misses some.
  void Report(const google::protobuf::MessageLite& event);
  // The result where the status is OK, and the end of the call. Only the first end counts.
  void End(const absl::Status& status, const google::protobuf::MessageLite* result = nullptr);
  // For a task that had to wait: false when the call has ended meanwhile.
  bool TakeTurn();
  // Ends a call whose task has not had its turn.
  void EndIfWaiting(const absl::Status& status);

 private:
  void EndLocked(const absl::Status& status, const google::protobuf::MessageLite* result);
  void Advance();  // starts whatever can start now
  void OnDeadline() final;

  std::deque<grpc::ByteBuffer> outgoing_;  // the first is being written while writing_
  std::optional<absl::Status> ending_;
  bool expired_ = false;
  bool started_ = false;
};

}  // namespace flightplan::service
