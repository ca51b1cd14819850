// What all calls of a ConnectGateway share, and what unary calls and streams have in common.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/support/byte_buffer.h"
#include "service/local/worker_pool.h"
#include "service/web/connect_call.h"
#include "service/web/connect_gateway.h"

namespace flightplan::service {

// Stands for a message that is not read: no message of any type, should the server want one after all.
inline constexpr char kNoMessage[] = "\xff";
inline constexpr size_t kMinGzipBytes = 1024;  // smaller answers grow more than they shrink

struct ConnectGateway::Shared {
  Shared(Options o, WorkerPool* w)
      : options(std::move(o)),
        methods(options.pool, options.services),
        codec(options.pool),
        stub(options.channel),
        writers(*w) {}

  // The request's message as protobuf's bytes.
  absl::StatusOr<grpc::ByteBuffer> ReadMessage(const ConnectCall& call, absl::string_view sent, bool packed) const;
  // An answer's, as the caller wants it; `packed` says whether it is packed now.
  absl::StatusOr<std::string> WriteMessage(const ConnectCall& call, const grpc::ByteBuffer& bytes, bool* packed) const;

  // The status of a call that ends here.
  grpc::Status StatusHere(const absl::Status& status, const HttpRequest& request) const;
  // The same, counted.
  grpc::Status EndHere(const ConnectMethod& method, const absl::Status& status, const HttpRequest& request) const;

  // Half of the places at most for calls with effects: they may wait for a store or a GPU, and questions need neither.
  bool Enter(const ConnectMethod& method) {
    const int64_t most_effects = std::max<int64_t>(1, options.max_calls / 2);
    const bool room = calls.fetch_add(1, std::memory_order_relaxed) < options.max_calls;
    const bool may = !method.side_effects || effects.fetch_add(1, std::memory_order_relaxed) < most_effects;
    if (room && may) return true;
    Leave(method);
    return false;
  }
  void Leave(const ConnectMethod& method) {
    calls.fetch_sub(1, std::memory_order_relaxed);
    if (method.side_effects) effects.fetch_sub(1, std::memory_order_relaxed);
  }

  const Options options;
  const ConnectMethods methods;
  const MessageCodec codec;
  grpc::GenericStub stub;
  std::atomic<int64_t> calls{0};
  std::atomic<int64_t> effects{0};  // of them
  std::atomic<bool> refusing{false};
  WorkerPool& writers;  // of the gateway: a call may be the last to hold this object, and one of its threads that call
};

// Both have entered (Shared::Enter) and leave when they end.
void StartUnary(std::shared_ptr<ConnectGateway::Shared> shared, ConnectCall call,
                std::shared_ptr<const HttpRequest> request, std::shared_ptr<HttpReply> reply);
void StartStream(std::shared_ptr<ConnectGateway::Shared> shared, ConnectCall call,
                 std::shared_ptr<const HttpRequest> request, std::shared_ptr<HttpReply> reply);

// The whole answer of a unary call that failed, and of a stream that failed before it began.
HttpResponse UnaryError(const grpc::Status& status);
HttpResponse StreamError(const ConnectCall& call, const grpc::Status& status);

}  // namespace flightplan::service
