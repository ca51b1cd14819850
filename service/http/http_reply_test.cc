// Answers that come later, in parts, or never.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "service/http/http_server.h"
#include "service/testing/http_server_fixture.h"

namespace flightplan::service {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

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
  caller.Say("POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n");
  const std::shared_ptr<HttpReply> reply = Reply();
  EXPECT_EQ(body_, "abc");
  HttpResponse response;
  response.body = "later";
  response.headers = {{"X-A", "b"}};
  std::thread([&] { reply->Send(std::move(response)); }).join();
  EXPECT_THAT(caller.Until("later"), AllOf(StartsWith("HTTP/1.1 200 OK\r\n"), HasSubstr("X-A: b\r\n")));
  // And the connection goes on.
  reply_ = {};
  caller.Say("GET /y HTTP/1.1\r\nHost: a\r\n\r\n");
  Reply()->Send({200, "text/plain", "again"});
  EXPECT_THAT(caller.Until("again"), StartsWith("HTTP/1.1 200 OK\r\n"));
}

TEST_F(LaterHttpServerTest, AnAnswerInPartsGoesOutInTheirOrder) {
  StartLater();
  Caller caller = Connect();
  caller.Say("GET /x HTTP/1.1\r\nHost: a\r\n\r\n");
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
    caller.Say("GET /x HTTP/1.1\r\nHost: a\r\n\r\n");
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
  caller.Say("GET /x HTTP/1.1\r\nHost: a\r\n\r\n");
  Reply().reset();
  reply_ = {};
  EXPECT_THAT(caller.Rest(), IsEmpty());
}

TEST_F(LaterHttpServerTest, WhoDoesNotTakeAnAnswerInTimeIsLetGo) {
  options_.answer_time = absl::Milliseconds(100);
  StartLater();
  Caller caller = Connect();
  caller.Say("GET /x HTTP/1.1\r\nHost: a\r\n\r\n");
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
  EXPECT_THAT(Ask(absl::StrCat("POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", chunk, chunk)),
              StartsWith("HTTP/1.1 413 "));
}

}  // namespace
}  // namespace flightplan::service
