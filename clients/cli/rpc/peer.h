// One side of a JSON-RPC 2.0 conversation over two descriptors, for `flightplan mcp` and `flightplan lsp`. Requests
// that take time run on threads of their own, so that a cancellation, or newer text, is read while one runs.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "clients/cli/rpc/framing.h"
#include "rapidjson/document.h"

namespace flightplan::cli {

// Codes of JSON-RPC 2.0, and of LSP for what was cancelled.
inline constexpr int kRpcParseError = -32700;
inline constexpr int kRpcInvalidRequest = -32600;
inline constexpr int kRpcMethodNotFound = -32601;
inline constexpr int kRpcInvalidParams = -32602;
inline constexpr int kRpcBusy = -32000;
inline constexpr int kRpcCancelled = -32800;

struct RpcError {
  int code = 0;
  std::string message;
  std::string data;  // JSON; empty: none
};
using RpcResult = std::variant<std::string, RpcError>;  // JSON of the result, or why there is none

// One request or notification while it is handled.
struct RpcCall {
  const rapidjson::Value& params;  // an object or array; null: there were none
  const std::atomic<bool>& cancelled;
};

struct RpcMethod {
  absl::string_view name;
  // Runs beside the reader, which goes on. Of the others the reader waits, so that they hold in the order of arrival.
  bool queued = false;
  std::function<RpcResult(const RpcCall&)> run;  // of a notification nobody gets the result
};

struct RpcOptions {
  Framing framing = Framing::kLines;
  int workers = 1;
  bool answers_cancelled = false;  // LSP: an error for each; MCP: nothing
};

class RpcPeer {
 public:
  static constexpr size_t kMaxMessageBytes = size_t{8} << 20;
  // Of JSON, names among them: what is written in two bytes takes thirty times as much in memory.
  static constexpr size_t kMaxMessageValues = size_t{1} << 18;
  static constexpr size_t kMaxWaiting = 64;                     // requests
  static constexpr size_t kMaxWaitingBytes = size_t{32} << 20;  // of their texts

  // Writes to `out`, which stays the caller's.
  RpcPeer(int out, RpcOptions options);
  ~RpcPeer();

  void Serve(std::vector<RpcMethod> methods) { methods_ = std::move(methods); }
  // Reads `in` until it ends, or Stop, then until what was asked is answered; if nobody reads the answers any more,
  // what still runs is cancelled. False: the stream is broken.
  bool Run(int in);
  // After the message in hand no further one is read. From a method only.
  void Stop() { stopped_ = true; }

  // Why nothing could be written any more, as errno; 0: all was. EPIPE: nobody reads it.
  int write_error() const { return write_error_; }

  // `params`: JSON.
  void Notify(absl::string_view method, absl::string_view params);
  // A request of ours, of which the answer is passed over.
  void Request(absl::string_view id, absl::string_view method, absl::string_view params);
  // `id`: JSON, as the request has it. One that has ended, or never was: nothing.
  void Cancel(const std::string& id);

 private:
  struct Batch;
  struct Job;
  void Read(const std::string& text);
  void Handle(const std::shared_ptr<rapidjson::Document>& document, const rapidjson::Value& message, size_t bytes,
              const std::shared_ptr<Batch>& batch);
  void Start(const std::shared_ptr<Job>& job);
  void Execute(Job& job);
  void Work();
  void Answer(const std::string& id, const RpcResult& result, const std::shared_ptr<Batch>& batch);
  void Write(absl::string_view message);
  void Drain();

  const int out_;
  const RpcOptions options_;
  std::vector<RpcMethod> methods_;
  bool stopped_ = false;
  std::atomic<bool> unread_{false};  // what we write goes nowhere
  std::atomic<int> write_error_{0};

  std::mutex write_;
  std::mutex mutex_;  // of all below
  std::condition_variable change_;
  std::map<std::string, std::shared_ptr<Job>> open_;  // by id
  std::deque<std::shared_ptr<Job>> queue_;
  size_t queued_bytes_ = 0;
  int running_ = 0;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace flightplan::cli
