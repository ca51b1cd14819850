// An open-loop caller that costs a quarter of a gRPC client: HTTP/2 frames by libnghttp2, one thread, no channels. For
// rates that load_client cannot send from the core it is left with. One line of figures, those of load_client.
//
//   flood_client --target=127.0.0.1:PORT --rate=CALLS_PER_SECOND --seconds=S [--connections=N] [--token=T]
//                [--new_tokens] [--from=ADDRESS]
//
// --new_tokens: every call shows a token of its own, made up. --from: the caller's own address, such as 127.0.0.2.
// Every call is a ResolveConfig with another question, so that neither a cache nor a call in flight answers it.
// Answered is a call with grpc-status 0 and one whole message; refused is one with RESOURCE_EXHAUSTED that says when to
// come back (google.rpc.RetryInfo); everything else has failed. Times count from the moment a call was due, whatever
// kept it: this caller, the peer's limit of streams, the network. Plain text only.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <unordered_set>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tests/bench/sample_requests.h"
#include "tests/drills/load_figures.h"

namespace flightplan::bench {
namespace {

constexpr int kExhausted = 8;             // RESOURCE_EXHAUSTED
constexpr size_t kPrefixBytes = 5;        // of a gRPC message: a flag, and its length in four bytes
constexpr int32_t kWindow = 16 << 20;     // what the peer may send before we read
constexpr size_t kMostPending = 1 << 18;  // bytes kept for one connection's socket
// A caller that wakes for every call and every answer takes the balancer's core for system calls. Above this rate it
// looks twice a millisecond, which is what its times are wrong by at most.
constexpr double kTickingRate = 2000;
constexpr std::chrono::microseconds kTick{500};

struct Options {
  std::string host = "127.0.0.1";
  int port = 0;
  double rate = 100;
  double seconds = 5;
  int connections = 4;
  std::string token;
  bool new_tokens = false;
  std::string from;
};

// A call, from the moment it is due to its answer.
struct Call {
  Clock::time_point due, sent;
  std::string authorization;  // empty: none
  std::string body;
  size_t body_sent = 0;
  // The answer so far.
  bool is_ok_http = false;
  int grpc_status = -1;
  std::string message, details;
  std::array<uint8_t, kPrefixBytes> prefix{};
  size_t received = 0;  // bytes of data
};

bool IsWholeMessage(const Call& call) {
  if (call.received < kPrefixBytes || call.prefix[0] != 0) return false;
  const size_t length = static_cast<size_t>(call.prefix[1]) << 24 | static_cast<size_t>(call.prefix[2]) << 16 |
                        static_cast<size_t>(call.prefix[3]) << 8 | call.prefix[4];
  return length > 0 && call.received == kPrefixBytes + length;
}

// Sorts answers into the figures.
class Judge {
 public:
  explicit Judge(LoadFigures* figures) : figures_(*figures) {}

  void Take(const Call& call, uint32_t h2_error) {
    const Clock::time_point now = Clock::now();
    if (h2_error == NGHTTP2_NO_ERROR && call.is_ok_http && call.grpc_status == 0 && IsWholeMessage(call)) {
      figures_.Answered(call.due, call.sent, now);
    } else if (h2_error == NGHTTP2_NO_ERROR && call.is_ok_http && call.grpc_status == kExhausted &&
               IsGoodRefusal(call.details)) {
      figures_.Refused(call.due, now);
    } else {
      figures_.Failed(absl::StrCat("HTTP ", call.is_ok_http ? "200" : "not 200", ", grpc-status ", call.grpc_status,
                                   " \"", call.message, "\", ", call.received, " bytes, HTTP/2 error ", h2_error,
                                   ", details \"", call.details, "\""));
    }
  }
  void Lose() { figures_.Failed("the connection is lost"); }
  void Sent(const Call& call) { figures_.Sent(call.due, call.sent); }

 private:
  // A balancer says the same few bytes every time: they are read once.
  bool IsGoodRefusal(const std::string& details) {
    if (good_.count(details) > 0) return true;
    std::string bytes;
    if (!absl::Base64Unescape(details, &bytes) || !SaysWhenToReturn(bytes)) return false;
    if (good_.size() < 100) good_.insert(details);
    return true;
  }

  LoadFigures& figures_;
  std::unordered_set<std::string> good_;
};

nghttp2_nv Header(absl::string_view name, absl::string_view value) {
  auto* name_bytes = reinterpret_cast<uint8_t*>(const_cast<char*>(name.data()));
  auto* value_bytes = reinterpret_cast<uint8_t*>(const_cast<char*>(value.data()));
  return {name_bytes, value_bytes, name.size(), value.size(),
          NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE};
}

class Connection {
 public:
  Connection(const Options& options, Judge* judge)
      : judge_(*judge),
        authority_(absl::StrCat(options.host, ":", options.port)),
        headers_{Header(":method", "POST"),       Header(":scheme", "http"),
                 Header(":path", kResolveMethod), Header(":authority", authority_),
                 Header("te", "trailers"),        Header("content-type", "application/grpc"),
                 Header("grpc-timeout", "10S")} {
    Connect(options);
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, OnHeader);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, OnData);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, OnFrameSent);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, OnClose);
    nghttp2_session_client_new(&session_, callbacks, this);
    nghttp2_session_callbacks_del(callbacks);
    const std::array<nghttp2_settings_entry, 2> settings = {
        {{NGHTTP2_SETTINGS_ENABLE_PUSH, 0}, {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 1 << 20}}};
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings.data(), settings.size());
    nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, kWindow);
    Flush();
  }
  ~Connection() {
    nghttp2_session_del(session_);
    if (socket_ >= 0) close(socket_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  int socket() const { return socket_; }
  bool is_open() const { return socket_ >= 0; }
  int64_t outstanding() const { return outstanding_; }
  bool wants_to_write() const { return !pending_.empty(); }

  // Takes the call; it is written by the next Flush, or when the peer's limit of streams has room.
  void Submit(std::unique_ptr<Call> call) {
    nghttp2_data_provider body;
    body.source.ptr = call.get();
    body.read_callback = ReadBody;
    std::vector<nghttp2_nv> headers = headers_;
    if (!call->authorization.empty()) headers.push_back(Header("authorization", call->authorization));
    if (!is_open() ||
        nghttp2_submit_request(session_, nullptr, headers.data(), headers.size(), &body, call.get()) < 0) {
      judge_.Lose();
      return;
    }
    (void)call.release();  // OnClose takes it back
    ++outstanding_;
  }

  // Writes what can be written.
  void Flush() {
    while (is_open()) {
      while (pending_.size() < kMostPending) {
        const uint8_t* bytes = nullptr;
        const ssize_t size = nghttp2_session_mem_send(session_, &bytes);
        if (size <= 0) break;
        pending_.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(size));
      }
      if (pending_.empty()) return;
      const ssize_t written = send(socket_, pending_.data(), pending_.size(), MSG_NOSIGNAL);
      if (written < 0) {
        if (errno != EAGAIN && errno != EINTR) Lose();
        return;
      }
      pending_.erase(0, static_cast<size_t>(written));
    }
  }

  void Read() {
    static std::array<uint8_t, 1 << 18> buffer;
    while (is_open()) {
      const ssize_t size = recv(socket_, buffer.data(), buffer.size(), 0);
      if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
      if (size <= 0 || nghttp2_session_mem_recv(session_, buffer.data(), static_cast<size_t>(size)) < 0) return Lose();
      if (static_cast<size_t>(size) < buffer.size()) return;
    }
  }

 private:
  void Connect(const Options& options) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(options.port));
    inet_pton(AF_INET, options.host.c_str(), &address.sin_addr);
    socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (!options.from.empty()) {
      sockaddr_in own{};
      own.sin_family = AF_INET;
      inet_pton(AF_INET, options.from.c_str(), &own.sin_addr);
      if (bind(socket_, reinterpret_cast<const sockaddr*>(&own), sizeof(own)) != 0) return Lose();
    }
    if (connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) return Lose();
    const int yes = 1;
    setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    fcntl(socket_, F_SETFL, fcntl(socket_, F_GETFL) | O_NONBLOCK);
  }

  // Calls on it stay unanswered.
  void Lose() {
    if (socket_ >= 0) close(socket_);
    socket_ = -1;
    pending_.clear();
  }

  static Call* CallOf(nghttp2_session* session, int32_t stream) {
    return static_cast<Call*>(nghttp2_session_get_stream_user_data(session, stream));
  }

  static ssize_t ReadBody(nghttp2_session*, int32_t, uint8_t* to, size_t room, uint32_t* flags,
                          nghttp2_data_source* source, void*) {
    Call& call = *static_cast<Call*>(source->ptr);
    const size_t size = std::min(room, call.body.size() - call.body_sent);
    // NOLINTNEXTLINE(bugprone-not-null-terminated-result): bytes of a body, with their number
    std::memcpy(to, call.body.data() + call.body_sent, size);
    call.body_sent += size;
    if (call.body_sent == call.body.size()) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(size);
  }

  static int OnFrameSent(nghttp2_session* session, const nghttp2_frame* frame, void* self) {
    if (frame->hd.type != NGHTTP2_HEADERS) return 0;
    if (Call* call = CallOf(session, frame->hd.stream_id)) {
      call->sent = Clock::now();
      static_cast<Connection*>(self)->judge_.Sent(*call);
    }
    return 0;
  }

  static int OnHeader(nghttp2_session* session, const nghttp2_frame* frame, const uint8_t* name, size_t name_size,
                      const uint8_t* value, size_t value_size, uint8_t, void*) {
    Call* call = CallOf(session, frame->hd.stream_id);
    if (call == nullptr) return 0;
    const absl::string_view key(reinterpret_cast<const char*>(name), name_size);
    const absl::string_view text(reinterpret_cast<const char*>(value), value_size);
    if (key == ":status") {
      call->is_ok_http = text == "200";
    } else if (key == "grpc-status") {
      if (!absl::SimpleAtoi(text, &call->grpc_status)) call->grpc_status = -1;
    } else if (key == "grpc-message") {
      call->message = std::string(text);
    } else if (key == "grpc-status-details-bin") {
      call->details = std::string(text);
    }
    return 0;
  }

  static int OnData(nghttp2_session* session, uint8_t, int32_t stream, const uint8_t* data, size_t size, void*) {
    Call* call = CallOf(session, stream);
    if (call == nullptr) return 0;
    for (size_t i = 0; i < size && call->received + i < kPrefixBytes; ++i) call->prefix[call->received + i] = data[i];
    call->received += size;
    return 0;
  }

  static int OnClose(nghttp2_session* session, int32_t stream, uint32_t error, void* self) {
    const std::unique_ptr<Call> call(CallOf(session, stream));
    if (call == nullptr) return 0;
    --static_cast<Connection*>(self)->outstanding_;
    static_cast<Connection*>(self)->judge_.Take(*call, error);
    return 0;
  }

  Judge& judge_;
  const std::string authority_;
  std::vector<nghttp2_nv> headers_;  // the same for every call; point into the string
  int socket_ = -1;
  nghttp2_session* session_ = nullptr;
  std::string pending_;  // for the socket
  int64_t outstanding_ = 0;
};

class Flood {
 public:
  explicit Flood(const Options& options) : options_(options), request_(SampleResolveRequest()) {
    figures_.rate = options.rate;
    figures_.total = static_cast<int64_t>(options.rate * options.seconds);
    epoll_ = epoll_create1(EPOLL_CLOEXEC);
    for (int i = 0; i < options.connections; ++i) {
      connections_.push_back(std::make_unique<Connection>(options, &judge_));
      epoll_event event{};
      event.events = EPOLLIN;
      event.data.u32 = static_cast<uint32_t>(i);
      if (connections_.back()->is_open()) epoll_ctl(epoll_, EPOLL_CTL_ADD, connections_.back()->socket(), &event);
    }
  }
  ~Flood() { close(epoll_); }

  int Run() {
    // Settings have been exchanged when the first call is due.
    const Clock::time_point start = Clock::now() + std::chrono::milliseconds(100);
    const auto interval = std::chrono::duration<double>(1 / options_.rate);
    const auto due = [&](int64_t number) {
      return start + std::chrono::duration_cast<Clock::duration>(interval * static_cast<double>(number));
    };
    const Clock::time_point give_up = due(figures_.total) + kCallDeadline;
    int64_t next = 0;
    while (next < figures_.total || Outstanding() > 0) {
      const Clock::time_point now = Clock::now();
      if (now >= give_up) break;
      for (; next < figures_.total && due(next) <= now; ++next) Submit(next, due(next));
      for (auto& connection : connections_) connection->Flush();
      if (options_.rate > kTickingRate) std::this_thread::sleep_until(now + kTick);
      Wait(next < figures_.total ? due(next) : give_up);
    }
    figures_.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    figures_.unanswered = Outstanding();
    return Report(&figures_);
  }

 private:
  int64_t Outstanding() const {
    int64_t sum = 0;
    for (const auto& connection : connections_) sum += connection->outstanding();
    return sum;
  }

  void Submit(int64_t number, Clock::time_point due) {
    auto call = std::make_unique<Call>();
    call->due = due;
    if (options_.new_tokens) {
      call->authorization = absl::StrCat("Bearer made-up-", first_question_ + number);
    } else if (!options_.token.empty()) {
      call->authorization = absl::StrCat("Bearer ", options_.token);
    }
    SetQuestion(first_question_ + number, &request_);
    call->body.assign(kPrefixBytes, '\0');
    request_.AppendToString(&call->body);
    const size_t size = call->body.size() - kPrefixBytes;
    for (size_t i = 0; i < 4; ++i) call->body[1 + i] = static_cast<char>(size >> (24 - 8 * i) & 0xff);
    connections_[static_cast<size_t>(number) % connections_.size()]->Submit(std::move(call));
  }

  void Wait(Clock::time_point until) {
    const auto left = std::max(until - Clock::now(), Clock::duration::zero());
    const timespec timeout = {
        std::chrono::duration_cast<std::chrono::seconds>(left).count(),
        std::chrono::duration_cast<std::chrono::nanoseconds>(left % std::chrono::seconds(1)).count()};
    std::array<epoll_event, 64> events;
    const int count = epoll_pwait2(epoll_, events.data(), static_cast<int>(events.size()), &timeout, nullptr);
    for (int i = 0; i < count; ++i) connections_[events[static_cast<size_t>(i)].data.u32]->Read();
  }

  const Options options_;
  LoadFigures figures_;
  Judge judge_{&figures_};
  std::vector<std::unique_ptr<Connection>> connections_;
  int epoll_ = -1;
  v1::ResolveConfigRequest request_;
  const int64_t first_question_ = FirstQuestion();
};

bool Parse(int argc, char** argv, Options* options) {
  for (int i = 1; i < argc; ++i) {
    absl::string_view arg = argv[i];
    bool fine = false;
    if (absl::ConsumePrefix(&arg, "--target=")) {
      const std::pair<std::string, std::string> parts = absl::StrSplit(arg, absl::MaxSplits(':', 1));
      options->host = parts.first;
      in_addr unused;
      fine = inet_pton(AF_INET, parts.first.c_str(), &unused) == 1 && absl::SimpleAtoi(parts.second, &options->port) &&
             options->port > 0 && options->port < 65536;
    } else if (absl::ConsumePrefix(&arg, "--rate=")) {
      fine = ReadRate(arg, &options->rate);
    } else if (absl::ConsumePrefix(&arg, "--seconds=")) {
      fine = ReadSeconds(arg, &options->seconds);
    } else if (absl::ConsumePrefix(&arg, "--token=")) {
      options->token = std::string(arg);
      fine = true;
    } else if (arg == "--new_tokens") {
      options->new_tokens = fine = true;
    } else if (absl::ConsumePrefix(&arg, "--from=")) {
      options->from = std::string(arg);
      in_addr unused;
      fine = inet_pton(AF_INET, options->from.c_str(), &unused) == 1;
    } else if (absl::ConsumePrefix(&arg, "--connections=")) {
      fine = absl::SimpleAtoi(arg, &options->connections) && options->connections > 0 && options->connections <= 1000;
    }
    if (!fine) {
      std::fprintf(stderr, "flood_client: cannot use %s\n", argv[i]);
      return false;
    }
  }
  if (options->port == 0) std::fprintf(stderr, "flood_client: --target=IPV4_ADDRESS:PORT is missing\n");
  return options->port != 0;
}

}  // namespace
}  // namespace flightplan::bench

int main(int argc, char** argv) {
  flightplan::bench::Options options;
  if (!flightplan::bench::Parse(argc, argv, &options)) return 2;
  return flightplan::bench::Flood(options).Run();
}
