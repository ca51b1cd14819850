#include "clients/cli/rpc/peer.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "clients/cli/rpc/json_text.h"
#include "resolver/base/json.h"

namespace flightplan::cli {
namespace {

constexpr auto kLook = std::chrono::milliseconds(200);  // how often it is seen whether answers are read
constexpr char kNoId[] = "null";
constexpr size_t kMaxIdBytes = 256;
constexpr size_t kMaxBatch = 64;

// The id as JSON; nothing: it is no id.
std::optional<std::string> IdOf(const rapidjson::Value& value) {
  if (!value.IsString() && !value.IsNumber()) return std::nullopt;
  std::string id = JsonOf(value);
  return id.size() > kMaxIdBytes ? std::nullopt : std::make_optional(std::move(id));
}

std::string ErrorJson(const RpcError& error) {
  JsonObject object;
  object.Integer("code", error.code).Text("message", error.message);
  if (!error.data.empty()) object.Raw("data", error.data);
  return object.Json();
}

std::string ResponseJson(const std::string& id, const RpcResult& result) {
  JsonObject object;
  object.Text("jsonrpc", "2.0").Raw("id", id);
  if (const auto* error = std::get_if<RpcError>(&result)) return object.Raw("error", ErrorJson(*error)).Json();
  return object.Raw("result", std::get<std::string>(result)).Json();
}

}  // namespace

// Requests that came as one array, and are answered as one.
struct RpcPeer::Batch {
  std::mutex mutex;
  size_t open = 1;  // the reader's own share, until all are handed out
  std::vector<std::string> answers;
};

struct RpcPeer::Job {
  std::string id;  // JSON; empty: a notification
  const RpcMethod* method = nullptr;
  std::shared_ptr<rapidjson::Document> document;
  const rapidjson::Value* params = nullptr;
  size_t bytes = 0;
  std::shared_ptr<Batch> batch;
  std::atomic<bool> cancelled{false};
};

RpcPeer::RpcPeer(int out, RpcOptions options) : out_(out), options_(options) {
  std::signal(SIGPIPE, SIG_IGN);  // a reader that went away is seen by write
  for (int i = 0; i < options_.workers; ++i) threads_.emplace_back([this] { Work(); });
}

RpcPeer::~RpcPeer() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ending_ = true;
    queue_.clear();
    for (auto& [id, job] : open_) job->cancelled = true;
  }
  change_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool RpcPeer::Run(int in) {
  FrameReader reader(in, options_.framing, kMaxMessageBytes);
  std::string text;
  bool whole = true;
  while (!stopped_ && !unread_) {
    const FrameEnd end = reader.Next(&text);
    if (end == FrameEnd::kEnd) break;
    if (end == FrameEnd::kMessage) {
      Read(text);
      continue;
    }
    const bool broken = end == FrameEnd::kBroken;
    Answer(kNoId,
           RpcError{broken ? kRpcParseError : kRpcInvalidRequest,
                    broken ? "a header without a Content-Length that can be read"
                           : absl::StrCat("the message is longer than ", kMaxMessageBytes, " bytes")},
           nullptr);
    if (broken) {
      whole = false;
      break;
    }
  }
  Drain();
  return whole;
}

// What was asked is answered, as long as somebody reads.
void RpcPeer::Drain() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (running_ > 0 || !queue_.empty()) {
    pollfd reader{out_, 0, 0};
    if (unread_ || (poll(&reader, 1, 0) > 0 && (reader.revents & POLLERR) != 0)) {
      queue_.clear();
      for (auto& [id, job] : open_) job->cancelled = true;
    }
    change_.wait_for(lock, kLook);
  }
}

void RpcPeer::Read(const std::string& text) {
  const auto document = std::make_shared<rapidjson::Document>();
  if (const std::optional<JsonFault> fault = ReadJson(text, JsonNumbers::kFinite, document.get(), kMaxMessageValues);
      fault.has_value()) {
    return Answer(kNoId, RpcError{kRpcParseError, absl::StrCat("byte ", fault->offset, ": ", fault->what)}, nullptr);
  }
  if (!document->IsArray()) return Handle(document, *document, text.size(), nullptr);
  if (document->Empty() || document->Size() > kMaxBatch) {
    return Answer(kNoId, RpcError{kRpcInvalidRequest, absl::StrCat("a batch has 1 to ", kMaxBatch, " messages")},
                  nullptr);
  }
  const auto batch = std::make_shared<Batch>();
  for (const rapidjson::Value& message : document->GetArray()) Handle(document, message, text.size(), batch);
  std::string all;
  {
    const std::lock_guard<std::mutex> lock(batch->mutex);
    if (--batch->open == 0 && !batch->answers.empty()) all = JsonList(batch->answers);
  }
  if (!all.empty()) Write(all);
}

void RpcPeer::Handle(const std::shared_ptr<rapidjson::Document>& document, const rapidjson::Value& message,
                     size_t bytes, const std::shared_ptr<Batch>& batch) {
  const auto job = std::make_shared<Job>();
  if (batch != nullptr) {
    const std::lock_guard<std::mutex> lock(batch->mutex);
    ++batch->open;
  }
  const auto refuse = [&](const std::string& id, int code, absl::string_view why) {
    Answer(id, RpcError{code, std::string(why)}, batch);
  };
  const rapidjson::Value* id = JsonMember(message, "id");
  const rapidjson::Value* method = JsonMember(message, "method");
  if (message.IsObject() && method == nullptr && (JsonMember(message, "result") || JsonMember(message, "error"))) {
    return Answer("", std::string(), batch);  // of a request of ours
  }
  const std::optional<std::string> id_text = id == nullptr ? std::string() : IdOf(*id);
  if (JsonTextMember(message, "jsonrpc") != "2.0" || method == nullptr || !method->IsString() || !id_text) {
    return refuse(id_text.value_or("").empty() ? kNoId : *id_text, kRpcInvalidRequest,
                  "wants an object with jsonrpc \"2.0\", a method, and an id that is text or a number");
  }
  static const rapidjson::Value kNothing;
  job->id = *id_text;
  job->document = document;
  job->bytes = bytes;
  job->batch = batch;
  job->params = JsonMember(message, "params");
  if (job->params == nullptr || job->params->IsNull()) job->params = &kNothing;
  if (!job->params->IsNull() && !job->params->IsObject() && !job->params->IsArray()) {
    return refuse(job->id, kRpcInvalidParams, "params wants an object or an array");
  }
  for (const RpcMethod& known : methods_) {
    if (known.name == JsonTextOf(*method)) job->method = &known;
  }
  if (job->method == nullptr) {
    return refuse(job->id, kRpcMethodNotFound,
                  absl::StrCat("no method ", JsonString(JsonTextOf(*method).substr(0, kMaxIdBytes))));
  }
  Start(job);
}

void RpcPeer::Start(const std::shared_ptr<Job>& job) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (!job->id.empty()) {
    if (open_.count(job->id) > 0) {
      lock.unlock();
      return Answer(job->id, RpcError{kRpcInvalidRequest, "a request with this id is not answered yet"}, job->batch);
    }
    if (job->method->queued && (queue_.size() >= kMaxWaiting || queued_bytes_ + job->bytes > kMaxWaitingBytes)) {
      lock.unlock();
      return Answer(job->id, RpcError{kRpcBusy, "too many requests wait; ask again when one is answered"}, job->batch);
    }
    open_[job->id] = job;
  }
  if (!job->method->queued || job->id.empty()) {
    lock.unlock();
    return Execute(*job);
  }
  queue_.push_back(job);
  queued_bytes_ += job->bytes;
  lock.unlock();
  change_.notify_all();
}

void RpcPeer::Execute(Job& job) {
  RpcResult result = std::string();
  if (!job.cancelled) result = job.method->run({*job.params, job.cancelled});
  if (!job.id.empty()) {
    const std::lock_guard<std::mutex> lock(mutex_);
    open_.erase(job.id);
  }
  if (!job.cancelled) return Answer(job.id, result, job.batch);
  Answer(options_.answers_cancelled ? job.id : "", RpcError{kRpcCancelled, "cancelled"}, job.batch);
}

void RpcPeer::Work() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    change_.wait(lock, [this] { return ending_ || !queue_.empty(); });
    if (ending_) return;
    const std::shared_ptr<Job> job = std::move(queue_.front());
    queue_.pop_front();
    queued_bytes_ -= job->bytes;
    ++running_;
    lock.unlock();
    Execute(*job);
    lock.lock();
    --running_;
    change_.notify_all();
  }
}

void RpcPeer::Answer(const std::string& id, const RpcResult& result, const std::shared_ptr<Batch>& batch) {
  std::string response = id.empty() ? "" : ResponseJson(id, result);
  if (batch != nullptr) {
    const std::lock_guard<std::mutex> lock(batch->mutex);
    if (!response.empty()) batch->answers.push_back(std::move(response));
    response = --batch->open == 0 && !batch->answers.empty() ? JsonList(batch->answers) : "";
  }
  if (!response.empty()) Write(response);
}

void RpcPeer::Write(absl::string_view message) {
  const std::string framed = Framed(options_.framing, message);
  const std::lock_guard<std::mutex> lock(write_);
  for (size_t at = 0; at < framed.size() && !unread_;) {
    const ssize_t written = write(out_, framed.data() + at, framed.size() - at);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      write_error_ = errno;
      unread_ = true;
    } else {
      at += static_cast<size_t>(written);
    }
  }
}

void RpcPeer::Notify(absl::string_view method, absl::string_view params) {
  Write(JsonObject().Text("jsonrpc", "2.0").Text("method", method).Raw("params", params).Json());
}

void RpcPeer::Request(absl::string_view id, absl::string_view method, absl::string_view params) {
  Write(JsonObject().Text("jsonrpc", "2.0").Text("id", id).Text("method", method).Raw("params", params).Json());
}

void RpcPeer::Cancel(const std::string& id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (const auto it = open_.find(id); it != open_.end()) it->second->cancelled = true;
}

}  // namespace flightplan::cli
