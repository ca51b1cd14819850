// One connection of an HTTP server. Each step keeps it alive by a reference in what the next one waits for; it ends
// when no step follows.
#pragma once

#include <openssl/ssl.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "service/http/http_bytes.h"
#include "service/http/http_loop.h"

namespace flightplan::service {

// `Stream`: beast::tcp_stream, or one of TLS around it.
template <class Stream>
class HttpSession final : public std::enable_shared_from_this<HttpSession<Stream>> {
 public:
  using error_code = boost::system::error_code;

  template <class... Args>
  HttpSession(HttpLoop* loop, HttpPlaces::Iterator place, Args&&... stream)
      : loop_(*loop), place_(place), stream_(std::in_place, std::forward<Args>(stream)...), idle_(loop->io) {}
  ~HttpSession() {
    loop_.places.Remove(place_);
    stream_.reset();  // its descriptor may be the spare one
    loop_.spare.Keep();
  }
  HttpSession(const HttpSession&) = delete;
  HttpSession& operator=(const HttpSession&) = delete;

  void Start() {
    Waits(loop_.options.request_time);
    if constexpr (kTls) {
      stream_->async_handshake(boost::asio::ssl::stream_base::server,
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
    idle_.cancel();
    boost::beast::get_lowest_layer(*stream_).socket().close(ignored);
  }

 private:
  class Reply;
  static constexpr bool kTls = !std::is_same_v<Stream, boost::beast::tcp_stream>;

  void Waits(absl::Duration at_most) {
    place_->since = std::chrono::steady_clock::now();
    boost::beast::get_lowest_layer(*stream_).expires_after(absl::ToChronoNanoseconds(at_most));
  }

  void ReadHeader() {
    parser_.emplace();
    parser_->header_limit(kMaxHttpHeaderBytes);
    parser_->body_limit(loop_.options.max_body_bytes);
    boost::beast::http::async_read_header(*stream_, buffer_, *parser_,
                                          [self = this->shared_from_this()](const error_code& error, size_t bytes) {
                                            if (error) return self->Complain(error);
                                            // The parser bounds what it has of a line that is not whole, and of a
                                            // header of short lines took 64 KiB at once.
                                            if (bytes > kMaxHttpHeaderBytes) {
                                              return self->Complain(boost::beast::http::error::header_limit);
                                            }
                                            self->ReadBody();
                                          });
  }

  void ReadBody() {
    if (const std::optional<HttpFault> fault = FaultIn(parser_->get())) {
      forgets_ = !parser_->is_done();
      return Refuse(HttpDrop::kMalformed, loop_.Says(fault->status, fault->line));
    }
    if (parser_->is_done()) return Handle();
    forgets_ = true;
    const auto length = parser_->content_length();
    // Of a body that does not say how long it is nobody knows what it will cost.
    if (!length && !loop_.options.chunked_bodies) {
      return Refuse(HttpDrop::kMalformed, loop_.Says(411, "a body needs a Content-Length"));
    }
    if (!loop_.places.ReserveBody(place_, length ? *length : loop_.options.max_body_bytes)) {
      return Refuse(HttpDrop::kBusy, loop_.Says(503, "too many bodies at once"));
    }
    boost::beast::http::async_read(*stream_, buffer_, *parser_,
                                   [self = this->shared_from_this()](const error_code& error, size_t) {
                                     if (error) return self->Complain(error);
                                     self->Handle();
                                   });
  }

  void Handle() {
    forgets_ = false;
    keep_ = parser_->get().keep_alive() && loop_.options.keep_alive > absl::ZeroDuration();
    head_ = parser_->get().method() == boost::beast::http::verb::head;
    auto request = std::make_shared<HttpRequest>(TakeRequest(&parser_->get()));
    if constexpr (kTls) request->peer_certificate = PeerCertificate(stream_->native_handle());
    if (loop_.stopping) return Send(loop_.Says(503, "the server is ending"));
    HttpResponse otherwise;
    const HttpRoute* const route = loop_.Find(request->method, request->path, &otherwise);
    if (route == nullptr) return Send(std::move(otherwise));
    place_->since.reset();
    const bool queued = route->begin ? Begin(*route, std::move(request)) : Answer(*route, std::move(request));
    if (queued) return;
    loop_.Dropped(HttpDrop::kBusy);
    Send(loop_.Says(503, "too many requests at once"));
  }

  bool Answer(const HttpRoute& route, std::shared_ptr<HttpRequest> request) {
    return loop_.pool->TrySubmit(
        [self = this->shared_from_this(), &route, request = std::move(request), &io = loop_.io]() mutable {
          HttpResponse response = route.answer(*request);
          request.reset();
          // The connection's last reference must not be this thread's.
          boost::asio::post(io, [self = std::move(self), response = std::move(response)]() mutable {
            self->Send(std::move(response));
          });
        },
        loop_.options.max_queued);
  }

  // Of an answer that may take long, a caller who goes away is noticed.
  bool Begin(const HttpRoute& route, std::shared_ptr<const HttpRequest> request) {
    gone_ = nullptr;
    answering_ = true;
    auto reply = std::make_shared<Reply>(this->shared_from_this());
    const bool queued = loop_.pool->TrySubmit(
        [&route, request = std::move(request), reply]() mutable { route.begin(std::move(request), std::move(reply)); },
        loop_.options.max_queued);
    if (!queued) {
      reply->Forget();
      answering_ = false;
      return false;
    }
    Watch();
    return true;
  }

  // What comes while an answer is made or sent: the end of the connection, or the next request's first bytes.
  void Watch() {
    if (watching_ || buffer_.size() > 0) return;
    watching_ = true;
    boost::beast::get_lowest_layer(*stream_).expires_never();
    stream_->async_read_some(
        buffer_.prepare(kHttpFirstBytes),
        [self = this->shared_from_this()](const error_code& error, size_t bytes) { self->Watched(error, bytes); });
  }
  void Watched(const error_code& error, size_t bytes) {
    watching_ = false;
    if (error) {
      if (answering_) Gone();
      End();
      return;
    }
    buffer_.commit(bytes);
    if (answering_) return;  // the next request waits its turn
    ++idle_round_;           // the timer may have run out already, its handler waiting its turn
    idle_.cancel();
    ReadNext();
  }
  void Gone() {
    lost_ = true;
    if (const std::function<void()> gone = std::exchange(gone_, nullptr)) gone();
    for (const HttpPart& part : std::exchange(parts_, {})) {
      if (part.taken) part.taken(false);
    }
  }

  void Complain(const error_code& error) {
    if (const std::optional<HttpFault> fault = FaultOf(error)) {
      if (error == boost::beast::http::error::body_limit) forgets_ = true;  // which the header may have told
      return Refuse(HttpDrop::kMalformed, loop_.Says(fault->status, fault->line));
    }
    Failed(error);
  }
  // The end of the connection. Of a caller who went away there is nothing to count.
  void Failed(const error_code& error) {
    if (error == boost::beast::error::timeout) loop_.Dropped(HttpDrop::kSlow);
    if (error.category() == boost::asio::error::get_ssl_category()) loop_.Dropped(HttpDrop::kTls);
  }
  // Before all was read: what follows could not be told apart from the rest of it.
  void Refuse(HttpDrop why, HttpResponse response) {
    loop_.Dropped(why);
    keep_ = false;
    Send(std::move(response));
  }

  void Send(HttpResponse response) {
    keep_ = keep_ && !loop_.stopping;
    response_.emplace(HeadOf(response, loop_.options.headers));
    response_->keep_alive(keep_);
    if (response.status != 304) response_->content_length(response.body.size());
    if (!head_) response_->body() = std::move(response.body);
    Waits(loop_.options.answer_time);
    boost::beast::http::async_write(*stream_, *response_,
                                    [self = this->shared_from_this()](const error_code& error, size_t) {
                                      if (error) return self->SendFailed(error);
                                      self->Sent();
                                    });
  }

  // An answer in parts goes out in the order in which its parts came; one is being written at a time.
  void SendPart(HttpPart part) {
    if (lost_) {
      if (part.taken) part.taken(false);
      return;
    }
    parts_.push_back(std::move(part));
    if (parts_.size() == 1) WritePart();
  }
  void WritePart() {
    writing_ = std::move(parts_.front().bytes);
    Waits(loop_.options.answer_time);
    boost::asio::async_write(*stream_, boost::asio::buffer(writing_),
                             [self = this->shared_from_this()](const error_code& error, size_t) {
                               if (error) return self->SendFailed(error);
                               self->PartSent();
                             });
  }
  void PartSent() {
    if (parts_.empty()) return;  // the caller has gone meanwhile
    const HttpPart part = std::move(parts_.front());
    parts_.pop_front();
    if (part.taken) part.taken(true);
    if (part.last) return Sent();
    if (!parts_.empty()) return WritePart();
    place_->since.reset();  // the next part is ours to make
  }
  void SendFailed(const error_code& error) {
    Failed(error);
    Gone();
    End();
  }

  void Sent() {
    response_.reset();
    answering_ = false;
    gone_ = nullptr;
    loop_.places.FreeBody(place_);
    if (!keep_ || loop_.stopping) return SayGoodbye();
    AwaitNext();
  }

  // The next request on the same connection: its time begins with its first byte.
  void AwaitNext() {
    if (buffer_.size() > 0) return ReadNext();
    Waits(loop_.options.keep_alive);
    if (watching_) {
      // The read under way has no limit of its own.
      idle_.expires_after(absl::ToChronoNanoseconds(loop_.options.keep_alive));
      idle_.async_wait([self = this->shared_from_this(), round = idle_round_](const error_code& error) {
        if (!error && round == self->idle_round_) self->End();
      });
      return;
    }
    stream_->async_read_some(buffer_.prepare(kHttpFirstBytes),
                             [self = this->shared_from_this()](const error_code& error, size_t bytes) {
                               if (error) return;
                               self->buffer_.commit(bytes);
                               self->ReadNext();
                             });
  }
  void ReadNext() {
    Waits(loop_.options.request_time);
    ReadHeader();
  }

  void SayGoodbye() {
    Waits(absl::FromChrono(kHttpGoodbye));
    if constexpr (kTls) {
      if (forgets_) return ForgetBody(0);
      Close();
    } else {
      error_code ignored;
      stream_->socket().shutdown(boost::asio::ip::tcp::socket::shutdown_send, ignored);
      if (watching_) return End();
      if (forgets_) ForgetBody(0);
    }
  }
  // A connection that is closed over unread bytes is reset, and the answer may be lost with it: who sends too large a
  // body would never learn so.
  void ForgetBody(size_t bytes) {
    buffer_.clear();
    stream_->async_read_some(buffer_.prepare(kHttpReadAheadBytes),
                             [self = this->shared_from_this(), bytes](const error_code& error, size_t more) {
                               if (error || bytes + more >= kHttpForgottenBytes) return self->Close();
                               self->ForgetBody(bytes + more);
                             });
  }
  void Close() {
    if constexpr (kTls) {
      stream_->async_shutdown([self = this->shared_from_this()](const error_code&) { self->End(); });
    } else {
      End();
    }
  }

  HttpLoop& loop_;
  const HttpPlaces::Iterator place_;
  std::optional<Stream> stream_;
  boost::beast::flat_buffer buffer_{kHttpReadAheadBytes};
  std::optional<HttpParser> parser_;
  std::optional<boost::beast::http::response<boost::beast::http::string_body>> response_;
  std::deque<HttpPart> parts_;  // the first is being written
  std::string writing_;         // its bytes, which outlive it where the caller goes meanwhile
  boost::asio::steady_timer idle_;
  unsigned idle_round_ = 0;  // of the waits for a next request
  std::function<void()> gone_;
  bool keep_ = false;
  bool head_ = false;
  bool answering_ = false;  // a Reply is out
  bool watching_ = false;   // a read is under way meanwhile
  bool lost_ = false;       // nobody takes what is sent
  bool forgets_ = false;    // a body is being read, or was refused before its end
};

// Carries what other threads say to the thread of the connections.
template <class Stream>
class HttpSession<Stream>::Reply final : public HttpReply {
 public:
  explicit Reply(std::shared_ptr<HttpSession> session)
      : io_(session->loop_.io), busy_(boost::asio::make_work_guard(io_)), session_(std::move(session)) {}
  ~Reply() override {
    if (session_ == nullptr) return;
    boost::asio::post(io_, [session = std::move(session_), ended = ended_] {
      if (!ended) session->End();
    });
  }
  Reply(const Reply&) = delete;
  Reply& operator=(const Reply&) = delete;

  // On the thread of the connections: another answer is given.
  void Forget() { session_.reset(); }

  void Send(HttpResponse response) override {
    ended_ = true;
    Post([response = std::move(response)](HttpSession* session) mutable {
      if (!session->lost_) session->Send(std::move(response));
    });
  }
  void Begin(HttpResponse head) override {
    Post([head = std::move(head)](HttpSession* session) {
      session->keep_ = session->keep_ && !session->loop_.stopping;
      session->loop_.places.FreeBody(session->place_);
      session->SendPart({ChunkedHead(head, session->loop_.options.headers, session->keep_), nullptr, false});
    });
  }
  void Write(std::string part, std::function<void(bool)> taken) override {
    Post([part = Chunk(part), taken = std::move(taken)](HttpSession* session) mutable {
      session->SendPart({std::move(part), std::move(taken), false});
    });
  }
  void End() override {
    ended_ = true;
    Post([](HttpSession* session) { session->SendPart({std::string(kLastChunk), nullptr, true}); });
  }
  void OnGone(std::function<void()> gone) override {
    Post([gone = std::move(gone)](HttpSession* session) mutable {
      if (session->lost_) return gone();
      session->gone_ = std::move(gone);
    });
  }

 private:
  template <class Task>
  void Post(Task task) {
    boost::asio::post(io_, [session = session_, task = std::move(task)]() mutable { task(session.get()); });
  }

  boost::asio::io_context& io_;
  // The server ends when no answer is to come.
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> busy_;
  std::shared_ptr<HttpSession> session_;
  bool ended_ = false;
};

}  // namespace flightplan::service
