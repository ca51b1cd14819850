#include "service/http/http_server.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <chrono>
#include <future>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "resolver/base/status_macros.h"
#include "service/http/http_loop.h"
#include "service/http/http_session.h"
#include "service/net/listen_address.h"
#include "service/net/why_not_listen.h"

namespace flightplan::service {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using asio::ip::tcp;
using boost::system::error_code;
using TlsStream = asio::ssl::stream<beast::tcp_stream>;

// After the listener could not accept, for want of a descriptor: others may be given back meanwhile.
constexpr std::chrono::milliseconds kAcceptAgain{100};

}  // namespace

class HttpServer::Listener {
 public:
  Listener(Options options, std::vector<HttpRoute> routes)
      : loop_(std::move(options), std::move(routes)), acceptor_(loop_.io), again_(loop_.io) {}

  absl::Status Listen() {
    const std::optional<HostPort> at = SplitHostPort(loop_.options.listen);
    int port = 0;
    if (!at.has_value() || !absl::SimpleAtoi(at->port, &port) || port < 0 || port > 65535) {
      return absl::InvalidArgumentError(absl::StrCat(loop_.options.setting, " is '", loop_.options.listen,
                                                     "', must be ", kHostPortForms, " such as 127.0.0.1:9464"));
    }
    error_code error;
    tcp::resolver resolver(loop_.io);
    const auto found = resolver.resolve(at->host, at->port, tcp::resolver::passive, error);
    if (error || found.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(loop_.options.setting, " is '", loop_.options.listen,
                                                     "': no address is called '", at->host, "'"));
    }
    if (loop_.options.tls != nullptr) {
      tls_.emplace(asio::ssl::context::tls_server);
      // A caller who begins anew over and over costs a signature each time.
      SSL_CTX_set_options(tls_->native_handle(), SSL_OP_NO_RENEGOTIATION);
      if (!loop_.options.tls(tls_->native_handle())) return absl::InternalError("OpenSSL gives no TLS server");
    }
    const tcp::endpoint endpoint = found.begin()->endpoint();
    acceptor_.open(endpoint.protocol(), error);
    // Never SO_REUSEPORT: with it two servers share a port without a word.
    if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (!error) port_ = acceptor_.local_endpoint(error).port();
    if (error) {
      const std::string why = WhyNotListen(loop_.options.listen);
      return absl::UnavailableError(absl::StrCat(loop_.options.setting, ": cannot listen on ", loop_.options.listen,
                                                 ": ", why.empty() ? error.message() : why));
    }
    return absl::OkStatus();
  }

  void Run() {
    loop_.pool.emplace(loop_.options.threads);
    Accept();
    thread_ = std::thread([this] { loop_.io.run(); });
  }

  void Stop() {
    if (!thread_.joinable()) return;
    std::promise<void> told;
    asio::post(loop_.io, [&] {
      loop_.stopping = true;
      error_code ignored;
      acceptor_.close(ignored);
      again_.cancel();
      loop_.places.EndAllWaiting();
      told.set_value();
    });
    told.get_future().wait();  // nobody gives the pool more after that
    loop_.pool.reset();        // answers what it has in hand
    keep_running_.reset();
    thread_.join();
  }

  int port() const { return port_; }

 private:
  void Accept() {
    acceptor_.async_accept([this](const error_code& error, tcp::socket socket) {
      if (loop_.stopping) return;
      if (!error) {
        Take(std::move(socket));
        return Accept();
      }
      if (error == boost::system::errc::too_many_files_open) loop_.Dropped(HttpDrop::kNoDescriptor);
      // Whoever asks how it is going just then is told: the descriptor kept for him is his.
      if (error == boost::system::errc::too_many_files_open && loop_.spare.is_kept()) {
        loop_.spare.Give();
        return Accept();
      }
      again_.expires_after(kAcceptAgain);
      again_.async_wait([this](const error_code&) {
        if (loop_.stopping) return;
        loop_.spare.Keep();
        Accept();
      });
    });
  }

  void Take(tcp::socket socket);

  HttpLoop loop_;
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> keep_running_{
      asio::make_work_guard(loop_.io)};
  tcp::acceptor acceptor_;
  asio::steady_timer again_;
  std::optional<asio::ssl::context> tls_;
  int port_ = 0;
  std::thread thread_;
};

void HttpServer::Listener::Take(tcp::socket socket) {
  error_code error;
  const tcp::endpoint peer = socket.remote_endpoint(error);
  if (error) return;
  if (!loop_.places.MakeRoomFor(peer.address())) return loop_.Dropped(HttpDrop::kFull);
  const HttpPlaces::Iterator place = loop_.places.Add(peer.address());
  const auto start = [&](auto session) {
    place->end = [weak = std::weak_ptr(session)] {
      if (const auto strong = weak.lock()) strong->End();
    };
    session->Start();
  };
  beast::tcp_stream stream(std::move(socket));
  if (tls_.has_value()) {
    start(std::make_shared<HttpSession<TlsStream>>(&loop_, place, std::move(stream), *tls_));
  } else {
    start(std::make_shared<HttpSession<beast::tcp_stream>>(&loop_, place, std::move(stream)));
  }
}

HttpServer::HttpServer(std::unique_ptr<Listener> listener) : listener_(std::move(listener)) {}
HttpServer::~HttpServer() { listener_->Stop(); }
int HttpServer::port() const { return listener_->port(); }

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(Options options, std::vector<HttpRoute> routes) {
  auto listener = std::make_unique<Listener>(std::move(options), std::move(routes));
  FLIGHTPLAN_RETURN_IF_ERROR(listener->Listen());
  listener->Run();
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(listener)));
}

}  // namespace flightplan::service
