// Takes calls of the Connect protocol (connectrpc.com/docs/protocol) over HTTP/1.1 and carries each to the gRPC server
// of this process, through a channel without a network: the same handlers, tokens, quotas, metrics and logs, and no
// second implementation of any method.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "grpcpp/channel.h"
#include "grpcpp/support/status.h"
#include "service/http/http_message.h"
#include "service/local/worker_pool.h"

namespace flightplan::service {

class ConnectGateway {
 public:
  struct Options {
    std::shared_ptr<grpc::Channel> channel;  // to the server that answers
    const google::protobuf::DescriptorPool* pool = google::protobuf::DescriptorPool::generated_pool();
    std::vector<std::string> services;  // full names
    // False: the message is not read, since the server will refuse the caller anyway, with all that it notes of that;
    // null: every message is read.
    std::function<bool(const google::protobuf::MethodDescriptor& rpc, const HttpRequest& request)> may_ask;
    // The status of a call that ends before it reaches the server; null: code and message alone.
    std::function<grpc::Status(const absl::Status& status, const HttpRequest& request)> status_here;
    // Counts such a call; null: nobody counts.
    std::function<void(const google::protobuf::MethodDescriptor& rpc, const grpc::Status& status)> ended_here;
    size_t max_message_bytes = size_t{1} << 20;  // unpacked
    int64_t max_calls = 64;  // at once, half of them with effects; more are refused with RESOURCE_EXHAUSTED
    int threads = 1;         // that write answers
  };
  explicit ConnectGateway(Options options);
  // No call is under way any more.
  ~ConnectGateway();
  ConnectGateway(const ConnectGateway&) = delete;
  ConnectGateway& operator=(const ConnectGateway&) = delete;

  // Whether the path is of one of the services' packages, where what is no method is answered as such.
  bool Takes(absl::string_view path) const;
  // New calls are told UNAVAILABLE from here on.
  void Refuse();
  int64_t calls() const;  // under way

  // Answers in time, from any thread. Reads the message on the caller's.
  void Take(std::shared_ptr<const HttpRequest> request, std::shared_ptr<HttpReply> reply);

  struct Shared;

 private:
  const std::unique_ptr<WorkerPool> writers_;
  std::shared_ptr<Shared> shared_;
};

}  // namespace flightplan::service
