#include "clients/cli/rpc/peer.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/support/conversation.h"

namespace flightplan::cli {
namespace {

// "echo" gives its params back; "wait" runs beside the reader until it is cancelled; "cancel" ends the wait `id`.
void ServeTest(RpcPeer& peer) {
  const auto echo = [](const RpcCall& call) -> RpcResult { return JsonOf(call.params); };
  peer.Serve({{"echo", false, echo},
              {"later", true, echo},
              {"fail", true,
               [](const RpcCall&) -> RpcResult {
                 return RpcError{kRpcInvalidParams, "no", "{\"a\":1}"};
               }},
              {"wait", true,
               [](const RpcCall& call) -> RpcResult {
                 while (!call.cancelled) std::this_thread::sleep_for(std::chrono::milliseconds(1));
                 return std::string("\"waited\"");
               }},
              {"cancel", false, [&peer](const RpcCall& call) -> RpcResult {
                 peer.Cancel(JsonOf(*JsonMember(call.params, "id")));
                 return std::string("true");
               }}});
}

std::vector<std::string> Talk(const std::string& input, RpcOptions options = {}) {
  return Converse(input, options, ServeTest);
}

std::string Ask(const std::string& id, const std::string& method, const std::string& params) {
  return absl::StrCat(R"({"jsonrpc":"2.0","id":)", id, R"(,"method":")", method, R"(","params":)", params, "}\n");
}

TEST(RpcPeer, AnswersByTheIdOfTheRequest) {
  const auto answers = Talk(Ask("1", "echo", "{\"x\":1}") + Ask("\"one\"", "later", "[1,2]"));
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[0], R"({"jsonrpc":"2.0","id":1,"result":{"x":1}})");
  EXPECT_EQ(answers[1], R"({"jsonrpc":"2.0","id":"one","result":[1,2]})");
}

TEST(RpcPeer, AnswersNoNotification) {
  EXPECT_TRUE(Talk(R"({"jsonrpc":"2.0","method":"echo"})"
                   "\n"
                   R"({"jsonrpc":"2.0","method":"nothing"})"
                   "\n"
                   R"({"jsonrpc":"2.0","id":1,"result":{}})")
                  .empty());
}

TEST(RpcPeer, SaysWhatIsWrongWithAMessage) {
  const struct {
    const char* message;
    int code;
    const char* id;
  } rows[] = {{"{bad", kRpcParseError, "null"},
              {"\xff\xfe", kRpcParseError, "null"},
              {"[]", kRpcInvalidRequest, "null"},
              {"1", kRpcInvalidRequest, "null"},
              {R"({"id":1,"method":"echo"})", kRpcInvalidRequest, "1"},
              {R"({"jsonrpc":"2.0","id":1})", kRpcInvalidRequest, "1"},
              {R"({"jsonrpc":"2.0","id":{},"method":"echo"})", kRpcInvalidRequest, "null"},
              {R"({"jsonrpc":"2.0","id":1,"method":7})", kRpcInvalidRequest, "1"},
              {R"({"jsonrpc":"2.0","id":1,"method":"echo","params":3})", kRpcInvalidParams, "1"},
              {R"({"jsonrpc":"2.0","id":1,"method":"other"})", kRpcMethodNotFound, "1"}};
  for (const auto& row : rows) {
    const auto answers = Talk(std::string(row.message) + "\n");
    ASSERT_EQ(answers.size(), 1u) << row.message;
    EXPECT_EQ(CodeOf(AnswerTo(answers, row.id)), row.code) << answers[0];
  }
}

TEST(RpcPeer, ReadsTextOfAnyDepth) {
  const std::string deep = std::string(1 << 20, '[') + std::string(1 << 20, ']');
  const auto answers = Talk(absl::StrCat(deep, "\n", Ask("1", "echo", "{}")));
  EXPECT_FALSE(AnswerTo(answers, "1").IsNull());
}

TEST(RpcPeer, GoesOnAfterAMessageThatIsTooLong) {
  const auto answers = Talk(std::string(RpcPeer::kMaxMessageBytes + 1, 'x') + "\n" + Ask("1", "echo", "{}"));
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(CodeOf(Parsed(answers[0])), kRpcInvalidRequest);
}

TEST(RpcPeer, ReadsAsManyValuesAsAMessageMayHave) {
  const auto code = [](size_t zeros) {
    std::string list = "0";
    for (size_t i = 1; i < zeros; ++i) list += ",0";
    return CodeOf(Parsed(Talk(Ask("1", "echo", absl::StrCat("[", list, "]")))[0]));
  };
  constexpr size_t kBeside = 10;  // of the message itself
  EXPECT_EQ(code(RpcPeer::kMaxMessageValues - kBeside), 0);
  EXPECT_EQ(code(RpcPeer::kMaxMessageValues), kRpcParseError);
}

TEST(RpcPeer, AnswersABatchAsOne) {
  const auto answers =
      Talk(R"([{"jsonrpc":"2.0","id":1,"method":"later","params":[1]},{"jsonrpc":"2.0","method":"echo"},7,)"
           R"({"jsonrpc":"2.0","id":2,"method":"echo","params":[2]}])");
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(Parsed(answers[0]).Size(), 3u);
}

TEST(RpcPeer, CarriesAnErrorWithItsData) {
  const auto answers = Talk(Ask("1", "fail", "{}"));
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0], R"({"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no","data":{"a":1}}})");
}

TEST(RpcPeer, ReadsACancellationWhileARequestRuns) {
  const std::string input = Ask("1", "wait", "{}") + Ask("2", "cancel", "{\"id\":1}") + Ask("3", "later", "{}");
  EXPECT_TRUE(AnswerTo(Talk(input), "1").IsNull());
  EXPECT_FALSE(AnswerTo(Talk(input), "3").IsNull());
  EXPECT_EQ(CodeOf(AnswerTo(Talk(input, {.answers_cancelled = true}), "1")), kRpcCancelled);
}

TEST(RpcPeer, RefusesAnIdThatIsInUse) {
  const auto answers = Talk(Ask("1", "wait", "{}") + Ask("1", "echo", "{}") + Ask("2", "cancel", "{\"id\":1}"));
  EXPECT_EQ(CodeOf(AnswerTo(answers, "1")), kRpcInvalidRequest);
}

TEST(RpcPeer, RefusesMoreThanItKeepsWaiting) {
  std::string input = Ask("\"first\"", "wait", "{}");
  const int asked = static_cast<int>(RpcPeer::kMaxWaiting) + 10;
  for (int i = 0; i < asked; ++i) input += Ask(absl::StrCat(i), "later", "{}");
  const auto answers = Talk(input + Ask("\"end\"", "cancel", "{\"id\":\"first\"}"));
  int busy = 0;
  for (int i = 0; i < asked; ++i) busy += CodeOf(AnswerTo(answers, absl::StrCat(i))) == kRpcBusy ? 1 : 0;
  EXPECT_GE(busy, 9);
  EXPECT_LE(busy, 11);
}

TEST(JsonText, WritesWhatReadsBack) {
  EXPECT_EQ(JsonString("a\"\n\xff\xe2\x82\xac"), "\"a\\\"\\n\xEF\xBF\xBD\xe2\x82\xac\"");
  EXPECT_EQ(JsonNumber(0.1), "0.1");
  EXPECT_EQ(JsonNumber(1.0 / 0.0), "null");
  EXPECT_EQ(JsonObject().Text("a", "b").Integer("c", 1).Bool("d", true).Json(), R"({"a":"b","c":1,"d":true})");
}

}  // namespace
}  // namespace flightplan::cli
