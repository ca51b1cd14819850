#include "service/http/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "service/testing/http_get.h"
#include "service/testing/http_server_fixture.h"

namespace flightplan::service {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

TEST_F(HttpServerTest, AnswersWhatItHas) {
  Start();
  EXPECT_THAT(
      Ask("GET /hello?x=1 HTTP/1.1\r\nHost: a\r\n\r\n"),
      AllOf(StartsWith("HTTP/1.1 200 OK\r\n"), HasSubstr("Content-Length: 6\r\n"), HasSubstr("\r\n\r\nhello\n")));
  EXPECT_THAT(Ask("HEAD /hello HTTP/1.1\r\nHost: a\r\n\r\n"),
              AllOf(HasSubstr("Content-Length: 6\r\n"), Not(HasSubstr("hello"))));
  EXPECT_THAT(Ask("GET /other HTTP/1.1\r\nHost: a\r\n\r\n"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(Ask("GET /echo HTTP/1.1\r\nHost: a\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 405 "), HasSubstr("asked by POST")));
  EXPECT_THAT(Ask("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"), HasSubstr("\r\n\r\nabc"));
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
  for (const char* target : {"/hello", "http://a/hello"}) {
    EXPECT_THAT(Ask(absl::StrCat("GET ", target, " HTTP/1.1\r\n\r\n")),
                AllOf(StartsWith("HTTP/1.1 400 "), HasSubstr("names its Host")));
  }
  EXPECT_THAT(Ask("GET /hello HTTP/1.0\r\n\r\n"), HasSubstr("\r\n\r\nhello\n"));
  EXPECT_EQ(dropped(HttpDrop::kMalformed), 10);
}

TEST_F(HttpServerTest, HeadersAndBodiesHaveABound) {
  Start();
  EXPECT_THAT(
      Ask(absl::StrCat("GET /hello HTTP/1.1\r\nHost: a\r\nX: ", std::string(kMaxHttpHeaderBytes, 'x'), "\r\n\r\n")),
      StartsWith("HTTP/1.1 431 "));
  // Of short lines too, and to the byte.
  std::string header = "GET /hello HTTP/1.1\r\nHost: a\r\n";
  while (header.size() < kMaxHttpHeaderBytes - 8) header += "X:\r\n";
  header += absl::StrCat("Y:", std::string(kMaxHttpHeaderBytes - header.size() - 6, 'y'), "\r\n");
  EXPECT_THAT(Ask(header + "\r\n"), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(Ask(header + "X:\r\n\r\n"), StartsWith("HTTP/1.1 431 "));
  EXPECT_THAT(Ask("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1001\r\n\r\n"), StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(Ask("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"),
              StartsWith("HTTP/1.1 411 "));
  EXPECT_EQ(dropped(HttpDrop::kMalformed), 4);
}

TEST_F(HttpServerTest, WhoSendsTooLargeABodyGetsTheAnswer) {
  Start();
  for (int i = 0; i < 20; ++i) {
    Caller caller = Connect();
    EXPECT_TRUE(caller.Say("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 6000000\r\n\r\n"));
    EXPECT_TRUE(caller.Say(std::string(6'000'000, 'x')));
    EXPECT_THAT(caller.Rest(), StartsWith("HTTP/1.1 413 "));
  }
}

TEST_F(HttpServerTest, OfARefusedBodyNoMoreThanALimitIsTaken) {
  Start();
  Caller caller = Connect();
  caller.Say("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 100000000000\r\n\r\n");
  const std::string part(1 << 20, 'x');
  int parts = 0;
  while (parts < 1000 && caller.Say(part)) ++parts;
  EXPECT_LT(parts, 100);  // and what the sockets hold
}

TEST_F(HttpServerTest, HeaderLinesWithoutEndEndTheConnection) {
  Start();
  Caller caller = Connect();
  caller.Say("GET /hello HTTP/1.1\r\nHost: a\r\n");
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
  second.Say("lo HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_THAT(second.Rest(), HasSubstr("hello\n"));
  EXPECT_EQ(dropped(HttpDrop::kDisplaced), 1);
}

TEST_F(HttpServerTest, WhoFindsEveryPlaceBeingAnsweredIsNotTaken) {
  options_.max_connections = 2;  // one of one address
  Start();
  Caller asking = Connect();
  asking.Say("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n");
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
  slow.Say("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nabc");
  absl::SleepFor(absl::Milliseconds(50));
  EXPECT_THAT(Ask(absl::StrCat("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 600\r\n\r\n", std::string(600, 'b'))),
              HasSubstr(std::string(600, 'b')));
  EXPECT_THAT(slow.Rest(), IsEmpty());
}

TEST_F(HttpServerTest, AConnectionServesOnceOrAsLongAsItMay) {
  Start();
  EXPECT_THAT(Ask("GET /hello HTTP/1.1\r\nHost: a\r\n\r\nGET /hello HTTP/1.1\r\nHost: a\r\n\r\n"),
              HasSubstr("Connection: close"));
  server_.reset();
  options_.keep_alive = absl::Milliseconds(200);
  Start();
  Caller caller = Connect();
  for (int i = 0; i < 3; ++i) {
    caller.Say("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_THAT(caller.Until("hello\n"), StartsWith("HTTP/1.1 200 "));
  }
  EXPECT_THAT(caller.Rest(), IsEmpty());  // after 200 ms without a word
}

TEST_F(HttpServerTest, MoreThanMayWaitAreTold) {
  options_.max_queued = 0;
  Start();
  EXPECT_THAT(Ask("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 503 "), HasSubstr("Retry-After: 1")));
  EXPECT_EQ(dropped(HttpDrop::kBusy), 1);
}

// The time of a request begins with its first byte, also where the connection may wait for it for long.
TEST_F(HttpServerTest, WhoBeginsAnotherRequestHasTheTimeOfOne) {
  options_.request_time = absl::Milliseconds(200);
  options_.keep_alive = absl::Hours(1);
  Start();
  Caller caller = Connect();
  caller.Say("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_THAT(caller.Until("hello\n"), StartsWith("HTTP/1.1 200 "));
  absl::SleepFor(absl::Milliseconds(400));  // no request yet: it waits on
  caller.Say("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
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
  EXPECT_THAT(Ask("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n"), HasSubstr("hello\n"));
  server_.reset();
  for (const auto& count : dropped_) EXPECT_EQ(count, 0);
}

TEST_F(HttpServerTest, AtTheEndWhatIsInHandIsAnsweredAndNobodyElseHoldsItUp) {
  Start();
  Caller silent = Connect();
  Caller asking = Connect();
  asking.Say("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n");
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

}  // namespace
}  // namespace flightplan::service
