#include "service/http/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <future>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "service/testing/http_get.h"

namespace flightplan::service {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

// A caller who says what he likes.
class Caller {
 public:
  explicit Caller(int port) : socket_(io_) {
    socket_.connect({boost::asio::ip::address_v4::loopback(), static_cast<uint16_t>(port)});
    const timeval longest{10, 0};  // a server that says nothing fails the test instead of holding it up
    setsockopt(socket_.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof(longest));
  }
  // False: the server has ended the connection.
  bool Say(const std::string& text) {
    boost::system::error_code error;
    boost::asio::write(socket_, boost::asio::buffer(text), error);
    return !error;
  }
  // All until the server ends the connection.
  std::string Rest() {
    std::string text;
    boost::system::error_code error;
    boost::asio::read(socket_, boost::asio::dynamic_buffer(text), error);
    return text;
  }
  // Until `end` has come.
  std::string Until(const std::string& end) {
    std::string text;
    char next = 0;
    boost::system::error_code error;
    while (text.find(end) == std::string::npos && !error) {
      if (boost::asio::read(socket_, boost::asio::buffer(&next, 1), error) == 1) text += next;
    }
    return text;
  }

 private:
  boost::asio::io_context io_;
  boost::asio::ip::tcp::socket socket_;
};

class HttpServerTest : public ::testing::Test {
 protected:
  HttpServerTest() {
    options_.listen = "127.0.0.1:0";
    options_.setting = "http_listen";
    options_.max_body_bytes = 1000;
    options_.max_bodies_bytes = 1500;
    options_.dropped = [this](HttpDrop why) { ++dropped_[static_cast<size_t>(why)]; };
  }

  void Start() {
    auto server = HttpServer::Start(
        options_,
        {{"GET", "/hello",
          [](const HttpRequest&) {
            return HttpResponse{200, "text/plain", "hello\n"};
          }},
         {"POST", "/echo",
          [](const HttpRequest& request) {
            return HttpResponse{200, "text/plain", request.body};
          }},
         {"GET", "/host",
          [](const HttpRequest& request) {
            const std::string* const host = request.Header("host");
            return HttpResponse{200, "text/plain", absl::StrCat(request.path, " of ", host ? *host : "", "\n")};
          }},
         {"GET", "/wait", [this](const HttpRequest&) {
            began_.set_value();
            go_on_.get_future().wait();
            return HttpResponse{200, "text/plain", "waited\n"};
          }}});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  Caller Connect() { return Caller(server_->port()); }
  std::string Ask(const std::string& text) {
    Caller caller = Connect();
    caller.Say(text);
    return caller.Rest();
  }

  int dropped(HttpDrop why) const { return dropped_[static_cast<size_t>(why)]; }

  std::array<std::atomic<int>, kHttpDropWords.size()> dropped_{};
  HttpServer::Options options_;
  std::promise<void> began_, go_on_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpServerTest, AnswersWhatItHas) {
  Start();
  EXPECT_THAT(
      Ask("GET /hello?x=1 HTTP/1.1\r\n\r\n"),
      AllOf(StartsWith("HTTP/1.1 200 OK\r\n"), HasSubstr("Content-Length: 6\r\n"), HasSubstr("\r\n\r\nhello\n")));
  EXPECT_THAT(Ask("HEAD /hello HTTP/1.1\r\n\r\n"), AllOf(HasSubstr("Content-Length: 6\r\n"), Not(HasSubstr("hello"))));
  EXPECT_THAT(Ask("GET /other HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(Ask("GET /echo HTTP/1.1\r\n\r\n"), AllOf(StartsWith("HTTP/1.1 405 "), HasSubstr("asked by POST")));
  EXPECT_THAT(Ask("POST /echo HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc"), HasSubstr("\r\n\r\nabc"));
  EXPECT_THAT(Ask("\x16\x03\x01 what\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
}

// Who reads the first and who reads the last would take it for requests of two servers (RFC 9112, 3.2).
TEST_F(HttpServerTest, ARequestNamesOneServer) {
  Start();
  EXPECT_THAT(Ask("GET /hello HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 400 "), HasSubstr("more than one Host")));
  EXPECT_THAT(Ask("POST /echo HTTP/1.1\r\nHost: a\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"),
              StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(Ask("GET http://b/hello HTTP/1.1\r\nHost: a\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 400 "), HasSubstr("another server")));
  EXPECT_THAT(Ask("GET HTTP://A:80/hello?x HTTP/1.1\r\nHost: a:80\r\n\r\n"), HasSubstr("\r\n\r\nhello\n"));
  EXPECT_THAT(Ask("GET http://a/host HTTP/1.0\r\n\r\n"), HasSubstr("\r\n\r\n/host of a\n"));
  EXPECT_THAT(Ask("GET http://a?x HTTP/1.1\r\nHost: a\r\n\r\n"), StartsWith("HTTP/1.1 404 "));
  for (const char* target : {"http:///hello", "hello", "*", "a:80", "ftp://a/hello"}) {
    EXPECT_THAT(Ask(absl::StrCat("GET ", target, " HTTP/1.1\r\nHost: a\r\n\r\n")), StartsWith("HTTP/1.1 400 "))
        << target;
  }
  EXPECT_EQ(dropped(HttpDrop::kMalformed), 8);
}

TEST_F(HttpServerTest, HeadersAndBodiesHaveABound) {
  Start();
  EXPECT_THAT(Ask(absl::StrCat("GET /hello HTTP/1.1\r\nX: ", std::string(kMaxHttpHeaderBytes, 'x'), "\r\n\r\n")),
              StartsWith("HTTP/1.1 431 "));
  EXPECT_THAT(Ask("POST /echo HTTP/1.1\r\nContent-Length: 1001\r\n\r\n"), StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(Ask("POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"),
              StartsWith("HTTP/1.1 411 "));
  EXPECT_EQ(dropped(HttpDrop::kMalformed), 3);
}

TEST_F(HttpServerTest, WhoSendsTooLargeABodyGetsTheAnswer) {
  Start();
  for (int i = 0; i < 20; ++i) {
    Caller caller = Connect();
    EXPECT_TRUE(caller.Say("POST /echo HTTP/1.1\r\nContent-Length: 6000000\r\n\r\n"));
    EXPECT_TRUE(caller.Say(std::string(6'000'000, 'x')));
    EXPECT_THAT(caller.Rest(), StartsWith("HTTP/1.1 413 "));
  }
}

TEST_F(HttpServerTest, OfARefusedBodyNoMoreThanALimitIsTaken) {
  Start();
  Caller caller = Connect();
  caller.Say("POST /echo HTTP/1.1\r\nContent-Length: 100000000000\r\n\r\n");
  const std::string part(1 << 20, 'x');
  int parts = 0;
  while (parts < 1000 && caller.Say(part)) ++parts;
  EXPECT_LT(parts, 100);  // and what the sockets hold
}

TEST_F(HttpServerTest, HeaderLinesWithoutEndEndTheConnection) {
  Start();
  Caller caller = Connect();
  caller.Say("GET /hello HTTP/1.1\r\n");
  const std::string line = absl::StrCat("X: ", std::string(1000, 'x'), "\r\n");
  int lines = 0;
  while (lines < 100'000 && caller.Say(line)) ++lines;
  EXPECT_LT(lines, 100'000);
}

TEST_F(HttpServerTest, WhoSaysNothingIsLetGo) {
  options_.request_time = absl::Milliseconds(100);
  Start();
  Caller silent = Connect();
  EXPECT_THAT(silent.Rest(), IsEmpty());
  // A byte now and then is not enough.
  Caller slow = Connect();
  const absl::Time start = absl::Now();
  while (slow.Say("G") && absl::Now() - start < absl::Seconds(10)) absl::SleepFor(absl::Milliseconds(20));
  EXPECT_LT(absl::Now() - start, absl::Seconds(10));
  EXPECT_EQ(dropped(HttpDrop::kSlow), 2);
}

TEST_F(HttpServerTest, WhoHasWaitedForLongestGivesUpHisPlace) {
  options_.max_connections = 4;  // two of one address
  Start();
  Caller first = Connect(), second = Connect();
  second.Say("GET /hel");
  absl::SleepFor(absl::Milliseconds(50));  // both are in
  EXPECT_EQ(HttpGet(server_->port(), "/hello").body, "hello\n");
  EXPECT_THAT(first.Rest(), IsEmpty());
  second.Say("lo HTTP/1.1\r\n\r\n");
  EXPECT_THAT(second.Rest(), HasSubstr("hello\n"));
  EXPECT_EQ(dropped(HttpDrop::kDisplaced), 1);
}

TEST_F(HttpServerTest, WhoFindsEveryPlaceBeingAnsweredIsNotTaken) {
  options_.max_connections = 2;  // one of one address
  Start();
  Caller asking = Connect();
  asking.Say("GET /wait HTTP/1.1\r\n\r\n");
  began_.get_future().wait();
  Caller another = Connect();
  EXPECT_THAT(another.Rest(), IsEmpty());
  EXPECT_EQ(dropped(HttpDrop::kFull), 1);
  go_on_.set_value();
  EXPECT_THAT(asking.Rest(), HasSubstr("waited\n"));
}

TEST_F(HttpServerTest, WhoHoldsRoomForABodyGivesItUp) {
  Start();
  Caller slow = Connect();
  slow.Say("POST /echo HTTP/1.1\r\nContent-Length: 1000\r\n\r\nabc");
  absl::SleepFor(absl::Milliseconds(50));
  EXPECT_THAT(Ask(absl::StrCat("POST /echo HTTP/1.1\r\nContent-Length: 600\r\n\r\n", std::string(600, 'b'))),
              HasSubstr(std::string(600, 'b')));
  EXPECT_THAT(slow.Rest(), IsEmpty());
}

TEST_F(HttpServerTest, AConnectionServesOnceOrAsLongAsItMay) {
  Start();
  EXPECT_THAT(Ask("GET /hello HTTP/1.1\r\n\r\nGET /hello HTTP/1.1\r\n\r\n"), HasSubstr("Connection: close"));
  server_.reset();
  options_.keep_alive = absl::Milliseconds(200);
  Start();
  Caller caller = Connect();
  for (int i = 0; i < 3; ++i) {
    caller.Say("GET /hello HTTP/1.1\r\n\r\n");
    EXPECT_THAT(caller.Until("hello\n"), StartsWith("HTTP/1.1 200 "));
  }
  EXPECT_THAT(caller.Rest(), IsEmpty());  // after 200 ms without a word
}

TEST_F(HttpServerTest, MoreThanMayWaitAreTold) {
  options_.max_queued = 0;
  Start();
  EXPECT_THAT(Ask("GET /hello HTTP/1.1\r\n\r\n"), AllOf(StartsWith("HTTP/1.1 503 "), HasSubstr("Retry-After: 1")));
  EXPECT_EQ(dropped(HttpDrop::kBusy), 1);
}

// The time of a request begins with its first byte, also where the connection may wait for it for long.
TEST_F(HttpServerTest, WhoBeginsAnotherRequestHasTheTimeOfOne) {
  options_.request_time = absl::Milliseconds(200);
  options_.keep_alive = absl::Hours(1);
  Start();
  Caller caller = Connect();
  caller.Say("GET /hello HTTP/1.1\r\n\r\n");
  EXPECT_THAT(caller.Until("hello\n"), StartsWith("HTTP/1.1 200 "));
  absl::SleepFor(absl::Milliseconds(400));  // no request yet: it waits on
  caller.Say("GET /hello HTTP/1.1\r\n\r\n");
  EXPECT_THAT(caller.Until("hello\n"), StartsWith("HTTP/1.1 200 "));
  caller.Say("G");
  const absl::Time start = absl::Now();
  while (dropped(HttpDrop::kSlow) == 0 && absl::Now() - start < absl::Seconds(10))
    absl::SleepFor(absl::Milliseconds(20));
  EXPECT_EQ(dropped(HttpDrop::kSlow), 1);
}

TEST_F(HttpServerTest, WhoOnlyGoesAwayIsNotCounted) {
  Start();
  Connect();
  Connect().Say("GET /hel");
  EXPECT_THAT(Ask("GET /hello HTTP/1.1\r\n\r\n"), HasSubstr("hello\n"));
  server_.reset();
  for (const auto& count : dropped_) EXPECT_EQ(count, 0);
}

TEST_F(HttpServerTest, AtTheEndWhatIsInHandIsAnsweredAndNobodyElseHoldsItUp) {
  Start();
  Caller silent = Connect();
  Caller asking = Connect();
  asking.Say("GET /wait HTTP/1.1\r\n\r\n");
  began_.get_future().wait();
  std::thread ending([this] { server_.reset(); });
  EXPECT_THAT(silent.Rest(), IsEmpty());
  go_on_.set_value();
  EXPECT_THAT(asking.Rest(), HasSubstr("waited\n"));
  ending.join();
}

TEST_F(HttpServerTest, AnAddressThatIsNoneIsNamed) {
  for (const char* listen : {"9464", "127.0.0.1:", "127.0.0.1:70000", "::1:9464", "no.such.host.invalid:1"}) {
    options_.listen = listen;
    const auto server = HttpServer::Start(options_, {});
    ASSERT_EQ(server.status().code(), absl::StatusCode::kInvalidArgument) << listen;
    EXPECT_THAT(server.status().message(), AllOf(HasSubstr("http_listen"), HasSubstr(listen)));
  }
  options_.listen = "127.0.0.1:0";
  Start();
  options_.listen = absl::StrCat("127.0.0.1:", server_->port());
  const absl::Status taken = HttpServer::Start(options_, {}).status();
  EXPECT_EQ(taken.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(taken.message(), HasSubstr("another program listens there: end it, or choose another port"));
}

// A server whose answers come later: what a test says of the reply is its own.
class LaterHttpServerTest : public HttpServerTest {
 protected:
  ~LaterHttpServerTest() override { server_.reset(); }  // while what its answers use is there

  void StartLater() {
    options_.keep_alive = absl::Seconds(10);
    options_.chunked_bodies = true;
    HttpRoute any{"*", "*", nullptr, nullptr};
    any.begin = [this](const std::shared_ptr<const HttpRequest>& request, std::shared_ptr<HttpReply> reply) {
      reply->OnGone([this] { gone_.set_value(); });
      body_ = request->body;
      reply_.set_value(std::move(reply));
    };
    auto server = HttpServer::Start(options_, {std::move(any)});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  std::shared_ptr<HttpReply> Reply() { return reply_.get_future().get(); }

  std::promise<std::shared_ptr<HttpReply>> reply_;
  std::promise<void> gone_;
  std::string body_;
};

TEST_F(LaterHttpServerTest, AnAnswerMayComeFromAnyThreadAtAnyTime) {
  StartLater();
  Caller caller = Connect();
  caller.Say("POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n");
  const std::shared_ptr<HttpReply> reply = Reply();
  EXPECT_EQ(body_, "abc");
  HttpResponse response;
  response.body = "later";
  response.headers = {{"X-A", "b"}};
  std::thread([&] { reply->Send(std::move(response)); }).join();
  EXPECT_THAT(caller.Until("later"), AllOf(StartsWith("HTTP/1.1 200 OK\r\n"), HasSubstr("X-A: b\r\n")));
  // And the connection goes on.
  reply_ = {};
  caller.Say("GET /y HTTP/1.1\r\n\r\n");
  Reply()->Send({200, "text/plain", "again"});
  EXPECT_THAT(caller.Until("again"), StartsWith("HTTP/1.1 200 OK\r\n"));
}

TEST_F(LaterHttpServerTest, AnAnswerInPartsGoesOutInTheirOrder) {
  StartLater();
  Caller caller = Connect();
  caller.Say("GET /x HTTP/1.1\r\n\r\n");
  const std::shared_ptr<HttpReply> reply = Reply();
  std::promise<bool> taken;
  reply->Begin({200, "text/plain", "ignored"});
  reply->Write("one", nullptr);
  reply->Write("", nullptr);  // is no end
  reply->Write("two", [&](bool was) { taken.set_value(was); });
  reply->End();
  const std::string text = caller.Until("0\r\n\r\n");
  EXPECT_THAT(text, AllOf(HasSubstr("Transfer-Encoding: chunked\r\n"), HasSubstr("3\r\none\r\n3\r\ntwo\r\n")));
  EXPECT_TRUE(taken.get_future().get());
}

TEST_F(LaterHttpServerTest, ACallerWhoGoesIsNoticedMeanwhile) {
  StartLater();
  std::shared_ptr<HttpReply> reply;
  {
    Caller caller = Connect();
    caller.Say("GET /x HTTP/1.1\r\n\r\n");
    reply = Reply();
  }
  gone_.get_future().wait();
  std::promise<bool> taken;
  reply->Begin({});
  reply->Write("one", [&](bool was) { taken.set_value(was); });
  EXPECT_FALSE(taken.get_future().get());
  reply->End();
}

TEST_F(LaterHttpServerTest, AReplyThatIsDroppedEndsTheConnection) {
  StartLater();
  Caller caller = Connect();
  caller.Say("GET /x HTTP/1.1\r\n\r\n");
  Reply().reset();
  reply_ = {};
  EXPECT_THAT(caller.Rest(), IsEmpty());
}

TEST_F(LaterHttpServerTest, WhoDoesNotTakeAnAnswerInTimeIsLetGo) {
  options_.answer_time = absl::Milliseconds(100);
  StartLater();
  Caller caller = Connect();
  caller.Say("GET /x HTTP/1.1\r\n\r\n");
  std::shared_ptr<HttpReply> reply = Reply();
  reply->Begin({});
  std::promise<bool> taken;
  reply->Write(std::string(size_t{32} << 20, 'x'), [&](bool was) { taken.set_value(was); });
  EXPECT_FALSE(taken.get_future().get());
  reply.reset();
  server_.reset();  // what it still has to count is counted
  EXPECT_EQ(dropped(HttpDrop::kSlow), 1);
}

TEST_F(LaterHttpServerTest, ABodyInChunksHasTheSameBound) {
  StartLater();
  const std::string chunk = absl::StrCat("400\r\n", std::string(0x400, 'x'), "\r\n");
  EXPECT_THAT(Ask(absl::StrCat("POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", chunk, chunk)),
              StartsWith("HTTP/1.1 413 "));
}

}  // namespace
}  // namespace flightplan::service
