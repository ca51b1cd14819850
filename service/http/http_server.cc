#include "service/http/http_server.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "resolver/base/status_macros.h"
#include "service/http/http_places.h"
#include "service/local/worker_pool.h"
#include "service/net/listen_address.h"
#include "service/net/spare_descriptor.h"
#include "service/net/why_not_listen.h"

namespace flightplan::service {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using TlsStream = asio::ssl::stream<beast::tcp_stream>;
using Parser = http::request_parser<http::string_body>;

// What is read ahead of the parser: a header fits, a body comes through in parts.
constexpr size_t kReadAheadBytes = 16 << 10;
constexpr size_t kFirstBytes = 1 << 10;  // of the next request
// After the listener could not accept, for want of a descriptor: others may be given back meanwhile.
constexpr std::chrono::milliseconds kAcceptAgain{100};
constexpr std::chrono::seconds kGoodbye{1};  // for a caller of TLS to say it too

HttpResponse Says(int status, absl::string_view text) {
  HttpResponse response;
  response.status = status;
  response.body = absl::StrCat(text, "\n");
  return response;
}

// Of what is wrong with the bytes; nothing for a caller who only went away.
std::optional<HttpResponse> Complaint(const error_code& error) {
  if (error == http::error::header_limit) {
    return Says(431, absl::StrCat("request line and headers have more than ", kMaxHttpHeaderBytes, " bytes"));
  }
  if (error == http::error::body_limit) return Says(413, "the body is larger than this address takes");
  if (error == http::error::end_of_stream || error == http::error::partial_message) return std::nullopt;
  if (error.category() == make_error_code(http::error::bad_method).category()) return Says(400, "this is no HTTP/1.1");
  return std::nullopt;
}

std::string PathOf(absl::string_view target) { return std::string(target.substr(0, target.find('?'))); }

}  // namespace

// Everything but the answers is one thread's: no locks.
class HttpServer::Loop {
 public:
  Loop(Options options, std::vector<HttpRoute> routes)
      : options_(std::move(options)),
        routes_(std::move(routes)),
        acceptor_(io_),
        again_(io_),
        places_(options_.max_connections, options_.max_bodies_bytes, [this] { Dropped(HttpDrop::kDisplaced); }) {}

  absl::Status Listen() {
    const std::optional<HostPort> at = SplitHostPort(options_.listen);
    int port = 0;
    if (!at.has_value() || !absl::SimpleAtoi(at->port, &port) || port < 0 || port > 65535) {
      return absl::InvalidArgumentError(absl::StrCat(options_.setting, " is '", options_.listen, "', must be ",
                                                     kHostPortForms, " such as 127.0.0.1:9464"));
    }
    error_code error;
    tcp::resolver resolver(io_);
    const auto found = resolver.resolve(at->host, at->port, tcp::resolver::passive, error);
    if (error || found.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(options_.setting, " is '", options_.listen, "': no address is called '", at->host, "'"));
    }
    if (options_.tls != nullptr) {
      tls_.emplace(asio::ssl::context::tls_server);
      // A caller who begins anew over and over costs a signature each time.
      SSL_CTX_set_options(tls_->native_handle(), SSL_OP_NO_RENEGOTIATION);
      if (!options_.tls(tls_->native_handle())) return absl::InternalError("OpenSSL gives no TLS server");
    }
    const tcp::endpoint endpoint = found.begin()->endpoint();
    acceptor_.open(endpoint.protocol(), error);
    // Never SO_REUSEPORT: with it two servers share a port without a word.
    if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (!error) port_ = acceptor_.local_endpoint(error).port();
    if (error) {
      const std::string why = WhyNotListen(options_.listen);
      return absl::UnavailableError(absl::StrCat(options_.setting, ": cannot listen on ", options_.listen, ": ",
                                                 why.empty() ? error.message() : why));
    }
    return absl::OkStatus();
  }

  void Run() {
    pool_.emplace(options_.threads);
    Accept();
    thread_ = std::thread([this] { io_.run(); });
  }

  void Stop() {
    if (!thread_.joinable()) return;
    asio::post(io_, [this] {
      stopping_ = true;
      error_code ignored;
      acceptor_.close(ignored);
      again_.cancel();
      places_.EndAllWaiting();
    });
    pool_.reset();  // answers what it has in hand
    keep_running_.reset();
    thread_.join();
  }

  int port() const { return port_; }

 private:
  template <class Stream>
  class Session;

  void Accept() {
    acceptor_.async_accept([this](const error_code& error, tcp::socket socket) {
      if (stopping_) return;
      if (!error) {
        Take(std::move(socket));
        return Accept();
      }
      if (error == boost::system::errc::too_many_files_open) Dropped(HttpDrop::kNoDescriptor);
      // Whoever asks how it is going just then is told: the descriptor kept for him is his.
      if (error == boost::system::errc::too_many_files_open && spare_.is_kept()) {
        spare_.Give();
        return Accept();
      }
      again_.expires_after(kAcceptAgain);
      again_.async_wait([this](const error_code&) {
        if (stopping_) return;
        spare_.Keep();
        Accept();
      });
    });
  }

  void Take(tcp::socket socket);

  void Dropped(HttpDrop why) const {
    if (options_.dropped) options_.dropped(why);
  }

  const HttpRoute* Find(absl::string_view method, absl::string_view path, HttpResponse* otherwise) const {
    *otherwise = Says(404, "nothing is here");
    for (const HttpRoute& route : routes_) {
      if (route.path != path) continue;
      if (route.method == method || (route.method == "GET" && method == "HEAD")) return &route;
      *otherwise = Says(405, absl::StrCat("this is asked by ", route.method));
    }
    return nullptr;
  }

  const Options options_;
  const std::vector<HttpRoute> routes_;
  asio::io_context io_{1};
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> keep_running_{asio::make_work_guard(io_)};
  tcp::acceptor acceptor_;
  asio::steady_timer again_;
  SpareDescriptor spare_;
  std::optional<asio::ssl::context> tls_;
  int port_ = 0;
  bool stopping_ = false;
  HttpPlaces places_;
  std::optional<WorkerPool> pool_;
  std::thread thread_;
};

// One connection. Each step keeps it alive by a reference in what the next one waits for; it ends when no step follows.
template <class Stream>
class HttpServer::Loop::Session final : public std::enable_shared_from_this<Session<Stream>> {
 public:
  template <class... Args>
  Session(Loop* loop, HttpPlaces::Iterator place, Args&&... stream)
      : loop_(*loop), place_(place), stream_(std::in_place, std::forward<Args>(stream)...) {}
  ~Session() {
    loop_.places_.Remove(place_);
    stream_.reset();  // its descriptor may be the spare one
    loop_.spare_.Keep();
  }

  void Start() {
    Waits(loop_.options_.request_time);
    if constexpr (kTls) {
      stream_->async_handshake(asio::ssl::stream_base::server,
                               [self = this->shared_from_this()](const error_code& error) {
                                 if (error) return self->Failed(error);
                                 self->ReadHeader();
                               });
    } else {
      ReadHeader();
    }
  }

  // Whatever it waits for fails.
  void End() {
    error_code ignored;
    beast::get_lowest_layer(*stream_).socket().close(ignored);
  }

 private:
  static constexpr bool kTls = std::is_same_v<Stream, TlsStream>;

  void Waits(absl::Duration at_most) {
    place_->since = std::chrono::steady_clock::now();
    beast::get_lowest_layer(*stream_).expires_after(absl::ToChronoNanoseconds(at_most));
  }

  void ReadHeader() {
    parser_.emplace();
    parser_->header_limit(kMaxHttpHeaderBytes);
    parser_->body_limit(loop_.options_.max_body_bytes);
    http::async_read_header(*stream_, buffer_, *parser_,
                            [self = this->shared_from_this()](const error_code& error, size_t) {
                              if (error) return self->Complain(error);
                              self->ReadBody();
                            });
  }

  void ReadBody() {
    if (parser_->is_done()) return Handle();
    const auto length = parser_->content_length();
    // Of a body that does not say how long it is nobody knows what it will cost.
    if (!length) return Refuse(HttpDrop::kMalformed, Says(411, "a body needs a Content-Length"));
    if (!loop_.places_.ReserveBody(place_, *length)) {
      return Refuse(HttpDrop::kBusy, Says(503, "too many bodies at once"));
    }
    http::async_read(*stream_, buffer_, *parser_, [self = this->shared_from_this()](const error_code& error, size_t) {
      if (error) return self->Complain(error);
      self->Handle();
    });
  }

  void Handle() {
    keep_ = parser_->get().keep_alive() && loop_.options_.keep_alive > absl::ZeroDuration();
    head_ = parser_->get().method() == http::verb::head;
    auto request = std::make_shared<HttpRequest>();
    const auto method = parser_->get().method_string();
    request->method = std::string(method.data(), method.size());
    const auto target = parser_->get().target();
    request->path = PathOf(absl::string_view(target.data(), target.size()));
    request->body = std::move(parser_->get().body());
    HttpResponse otherwise;
    const HttpRoute* const route = loop_.Find(request->method, request->path, &otherwise);
    if (route == nullptr) return Send(std::move(otherwise));
    place_->since.reset();
    auto self = this->shared_from_this();
    const bool queued = loop_.pool_->TrySubmit(
        [self, route, request, &io = loop_.io_]() mutable {
          HttpResponse response = route->answer(*request);
          request.reset();
          // The connection's last reference must not be this thread's.
          asio::post(io, [self = std::move(self), response = std::move(response)]() mutable {
            self->Send(std::move(response));
          });
        },
        loop_.options_.max_queued);
    if (queued) return;
    loop_.Dropped(HttpDrop::kBusy);
    Send(Says(503, "too many requests at once"));
  }

  void Complain(const error_code& error) {
    if (std::optional<HttpResponse> complaint = Complaint(error)) {
      return Refuse(HttpDrop::kMalformed, *std::move(complaint));
    }
    Failed(error);
  }
  // The end of the connection. Of a caller who went away there is nothing to count.
  void Failed(const error_code& error) {
    if (error == beast::error::timeout) loop_.Dropped(HttpDrop::kSlow);
    if (error.category() == asio::error::get_ssl_category()) loop_.Dropped(HttpDrop::kTls);
  }
  // Before all was read: what follows could not be told apart from the rest of it.
  void Refuse(HttpDrop why, HttpResponse response) {
    loop_.Dropped(why);
    keep_ = false;
    Send(std::move(response));
  }

  void Send(HttpResponse response) {
    keep_ = keep_ && !loop_.stopping_;
    response_.emplace(static_cast<http::status>(response.status), 11);
    response_->set(http::field::content_type, response.content_type);
    response_->keep_alive(keep_);
    if (response.status == 503) response_->set(http::field::retry_after, "1");
    response_->content_length(response.body.size());
    if (!head_) response_->body() = std::move(response.body);
    Waits(loop_.options_.answer_time);
    http::async_write(*stream_, *response_, [self = this->shared_from_this()](const error_code& error, size_t) {
      if (error) return self->Failed(error);
      self->Sent();
    });
  }

  void Sent() {
    response_.reset();
    loop_.places_.FreeBody(place_);
    if (!keep_ || loop_.stopping_) return SayGoodbye();
    AwaitNext();
  }

  // The next request on the same connection: its time begins with its first byte.
  void AwaitNext() {
    if (buffer_.size() > 0) return ReadNext();
    Waits(loop_.options_.keep_alive);
    stream_->async_read_some(buffer_.prepare(kFirstBytes),
                             [self = this->shared_from_this()](const error_code& error, size_t bytes) {
                               if (error) return;
                               self->buffer_.commit(bytes);
                               self->ReadNext();
                             });
  }
  void ReadNext() {
    Waits(loop_.options_.request_time);
    ReadHeader();
  }

  void SayGoodbye() {
    if constexpr (kTls) {
      Waits(absl::FromChrono(kGoodbye));
      stream_->async_shutdown([self = this->shared_from_this()](const error_code&) {});
    } else {
      error_code ignored;
      stream_->socket().shutdown(tcp::socket::shutdown_send, ignored);
    }
  }

  Loop& loop_;
  const HttpPlaces::Iterator place_;
  std::optional<Stream> stream_;
  beast::flat_buffer buffer_{kReadAheadBytes};
  std::optional<Parser> parser_;
  std::optional<http::response<http::string_body>> response_;
  bool keep_ = false;
  bool head_ = false;
};

void HttpServer::Loop::Take(tcp::socket socket) {
  error_code error;
  const tcp::endpoint peer = socket.remote_endpoint(error);
  if (error) return;
  if (!places_.MakeRoomFor(peer.address())) return Dropped(HttpDrop::kFull);
  const HttpPlaces::Iterator place = places_.Add(peer.address());
  const auto start = [&](auto session) {
    place->end = [weak = std::weak_ptr(session)] {
      if (const auto strong = weak.lock()) strong->End();
    };
    session->Start();
  };
  beast::tcp_stream stream(std::move(socket));
  if (tls_.has_value()) {
    start(std::make_shared<Session<TlsStream>>(this, place, std::move(stream), *tls_));
  } else {
    start(std::make_shared<Session<beast::tcp_stream>>(this, place, std::move(stream)));
  }
}

HttpServer::HttpServer(std::unique_ptr<Loop> loop) : loop_(std::move(loop)) {}
HttpServer::~HttpServer() { loop_->Stop(); }
int HttpServer::port() const { return loop_->port(); }

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(Options options, std::vector<HttpRoute> routes) {
  auto loop = std::make_unique<Loop>(std::move(options), std::move(routes));
  FLIGHTPLAN_RETURN_IF_ERROR(loop->Listen());
  loop->Run();
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(loop)));
}

}  // namespace flightplan::service
