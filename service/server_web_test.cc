// The port for browsers and curl: the Connect protocol over a real port, beside gRPC.
#include <gmock/gmock.h>
#include <stdlib.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <filesystem>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "service/testing/pki.h"
#include "service/testing/server_fixture.h"
#include "service/testing/web_call.h"
#include "service/web/envelope.h"
#include "service/web/gzip.h"
#include "tests/support/temporary_folder.h"

namespace flightplan::service {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// printf %s "open sesame" | sha256sum; and so on
constexpr char kTokens[] = R"(tokens:
  - {sha256: 41ef4bb0b23661e66301aac36066912dac037827b4ae63a7b1165a5aa93ed4eb, tenant: research, roles: [resolve], expires: 2126-01-01T00:00:00Z}
  - {sha256: 1e5e3ce20c720a1021d8f9f5e8f7c3055a97315c79230508bbd37b08502208db, tenant: reading, roles: [read], expires: 2126-01-01T00:00:00Z}
certificates:
  - {name: "spiffe://cluster/launcher", tenant: launch, roles: [resolve]}
)";
constexpr char kResolve[] = "ResolverService/ResolveConfig";
constexpr char kQuestion[] = R"({"model":{"name":"m"},"target":{"framework":"megatron-lm"}})";

class WebServerTest : public ServerTest {
 protected:
  WebServerTest() { settings_.web_listen = "127.0.0.1:0"; }
  ~WebServerTest() override { server_.reset(); }
  std::string Write(const std::string& name, const std::string& content) {
    ReplaceFile(folder_.File(name), content);
    return folder_.File(name);
  }

  WebAnswer Call(const WebRequest& request) { return WebCall(server_->web_port(), request); }
  WebAnswer Call(const std::string& method, const std::string& json,
                 const std::vector<std::pair<std::string, std::string>>& more = {}) {
    WebRequest request = JsonCall(method, json);
    request.headers.insert(request.headers.end(), more.begin(), more.end());
    return Call(request);
  }
  WebAnswer Stream(const std::string& method, const std::string& body, const std::string& codec = "json") {
    return Call({"POST", "/flightplan.v1." + method, {{"content-type", "application/connect+" + codec}}, body});
  }
  // The messages of a stream's answer; the last is its end.
  static std::vector<std::string> Messages(const WebAnswer& answer) {
    std::vector<std::string> messages;
    for (size_t at = 0; at + 5 <= answer.body.size();) {
      size_t size = 0;
      for (size_t i = 1; i < 5; ++i) size = size << 8 | static_cast<unsigned char>(answer.body[at + i]);
      messages.push_back(answer.body.substr(at + 5, size));
      at += 5 + size;
    }
    return messages;
  }

  const TemporaryFolder folder_;
};

TEST_F(WebServerTest, AnAnswerIsThatOfGrpcInEitherEncoding) {
  std::string by_grpc;
  ASSERT_TRUE(
      Raw("/flightplan.v1.ResolverService/ResolveConfig", RequestNamed("m").SerializeAsString(), &by_grpc).ok());
  const WebAnswer json = Call(kResolve, kQuestion);
  EXPECT_EQ(json.status, 200) << json.body;
  EXPECT_EQ(json.Header("content-type"), "application/json");
  EXPECT_THAT(json.body, AllOf(HasSubstr(R"("outcome":"OUTCOME_RESOLVED")"), HasSubstr(R"("digest":"fp1-m")")));
  EXPECT_FALSE(json.Header("x-request-id").empty());
  EXPECT_EQ(json.Header("trailer-x-flightplan-cache"), "hit") << "the same cache";
  const WebAnswer proto = Call({"POST",
                                "/flightplan.v1.ResolverService/ResolveConfig",
                                {{"content-type", "application/proto"}, {"connect-protocol-version", "1"}},
                                RequestNamed("m").SerializeAsString()});
  EXPECT_EQ(proto.body, by_grpc);
  EXPECT_EQ(proto.Header("content-type"), "application/proto");
  ExpectMetricBecomes(R"(grpc_server_handled_total{grpc_code="OK",grpc_method="ResolveConfig",)"
                      R"(grpc_service="flightplan.v1.ResolverService",grpc_type="unary"})",
                      3);
}

TEST_F(WebServerTest, EveryAnswerHasTheHeadersThatKeepABrowserSafe) {
  for (const WebAnswer& answer :
       {Call(kResolve, kQuestion), Call({"GET", "/"}), Call({"GET", "/", {{"host", "evil"}}})}) {
    EXPECT_THAT(answer.Header("content-security-policy"), HasSubstr("default-src 'self'"));
    EXPECT_EQ(answer.Header("x-content-type-options"), "nosniff");
    EXPECT_EQ(answer.Header("set-cookie"), "");
  }
}

TEST_F(WebServerTest, ErrorsHaveTheirCodeStatusAndDetails) {
  control_->status = [](const auto&) { return absl::NotFoundError("no such \"model\""); };
  const WebAnswer answer = Call(kResolve, kQuestion, {{"x-request-id", "seven"}});
  EXPECT_EQ(answer.status, 404);
  EXPECT_EQ(answer.Header("content-type"), "application/json");
  EXPECT_THAT(
      answer.body,
      AllOf(HasSubstr(R"({"code":"not_found","message":"no such \"model\"","details":[{"type":"google.rpc.ErrorInfo")"),
            HasSubstr(R"("reason":"NAME_UNKNOWN")"), HasSubstr(R"("request_id":"seven")")));
  const WebAnswer unread = Call(kResolve, R"({"model":{"nam":"x"}})");
  EXPECT_EQ(unread.status, 400);
  EXPECT_THAT(unread.body, AllOf(HasSubstr("invalid_argument"), HasSubstr("model.nam")));
  ExpectMetricBecomes(R"(grpc_server_handled_total{grpc_code="InvalidArgument",grpc_method="ResolveConfig",)"
                      R"(grpc_service="flightplan.v1.ResolverService",grpc_type="unary"})",
                      1);
}

TEST_F(WebServerTest, WhatIsNoCallIsToldByItsHttpStatus) {
  EXPECT_EQ(Call("ResolverService/Nothing", "{}").status, 404);
  EXPECT_EQ(Call({"PUT", "/flightplan.v1.ResolverService/ResolveConfig"}).status, 405);
  for (const char* method : {"ResolverService/Nope", "Nope/Nope"}) {
    const WebAnswer unknown = Call(method, "{}");
    EXPECT_EQ(unknown.status, 404) << method;
    EXPECT_THAT(unknown.body, AllOf(HasSubstr(R"("code":"unimplemented")"), HasSubstr("METHOD_UNKNOWN"))) << method;
  }
  const std::pair<std::string, const char*> kNoMessages[] = {{"x", "invalid_argument"},
                                                             {WriteEnvelope(kEnvelopeCompressed, "{}"), "internal"}};
  for (const auto& [body, code] : kNoMessages) {
    const WebAnswer answer = Call(
        {"POST", "/flightplan.v1.ResolverService/PlanLayouts", {{"content-type", "application/connect+json"}}, body});
    EXPECT_THAT(answer.body, AllOf(HasSubstr(code), HasSubstr("ENVELOPE_INVALID"), HasSubstr("envelope")));
  }
  EXPECT_EQ(Call({"GET", "/flightplan.v1.EvidenceService/ReportMeasurement?encoding=json&message={}"}).status, 405);
  const WebAnswer text =
      Call({"POST", "/flightplan.v1.ResolverService/ResolveConfig", {{"content-type", "text/plain"}}});
  EXPECT_EQ(text.status, 415);
  EXPECT_EQ(text.Header("accept-post"), "application/json, application/proto");
  EXPECT_EQ(Call(kResolve, kQuestion, {{"connect-protocol-version", "2"}}).status, 400);
  EXPECT_EQ(Call(kResolve, kQuestion, {{"connect-timeout-ms", "1s"}}).status, 400);
  EXPECT_EQ(Call(kResolve, kQuestion, {{"connect-timeout-ms", "12345678901"}}).status, 400);
  EXPECT_EQ(Call(kResolve, kQuestion, {{"x-a-bin", "*"}}).status, 400);
  const WebAnswer brotli = Call(kResolve, kQuestion, {{"content-encoding", "br"}});
  EXPECT_EQ(brotli.status, 501);
  EXPECT_THAT(brotli.body, HasSubstr("gzip"));
  ExpectHealthy();
}

TEST_F(WebServerTest, WhatChangesNothingMayBeAskedByGet) {
  const std::string path = "/flightplan.v1.ResolverService/ResolveConfig?connect=v1&encoding=json&message=";
  const WebAnswer plain = Call({"GET", path + "%7B%22model%22%3A%7B%22name%22%3A%22m%22%7D%7D"});
  EXPECT_EQ(plain.status, 200) << plain.body;
  EXPECT_THAT(plain.body, HasSubstr("fp1-m"));
  const WebAnswer base64 =
      Call({"GET", path + absl::WebSafeBase64Escape(Gzip(kQuestion)) + "&base64=1&compression=gzip"});
  EXPECT_THAT(base64.body, HasSubstr("fp1-m"));
  EXPECT_EQ(Call({"GET", path + "*&base64=1"}).status, 400);
  EXPECT_EQ(Call({"GET", "/flightplan.v1.ResolverService/ResolveConfig?encoding=json"}).status, 400);
  EXPECT_EQ(Call({"GET", "/flightplan.v1.ResolverService/ResolveConfig?message={}"}).status, 415);
}

TEST_F(WebServerTest, GzipBothWaysAndNoBomb) {
  control_->padding_bytes = 10'000;
  WebRequest request = JsonCall(kResolve, Gzip(kQuestion));
  request.headers.push_back({"content-encoding", "gzip"});
  const WebAnswer answer = Call(request);
  EXPECT_EQ(answer.Header("content-encoding"), "gzip") << "who packs, unpacks";
  EXPECT_THAT(Gunzip(answer.body, 100'000).value_or(""), HasSubstr("fp1-m"));
  EXPECT_EQ(Call(kResolve, kQuestion).Header("content-encoding"), "");
  request.body = Gzip(std::string(size_t{32} << 20, ' '));
  const WebAnswer bomb = Call(request);
  EXPECT_EQ(bomb.status, 429);
  EXPECT_THAT(bomb.body, AllOf(HasSubstr("resource_exhausted"), HasSubstr("REQUEST_TOO_LARGE")));
  request.body = Gzip(kQuestion).substr(0, 20);
  EXPECT_EQ(Call(request).status, 400);
  request.body = std::string((size_t{1} << 20) + 1, ' ');
  const WebAnswer large = Call(request);
  EXPECT_EQ(large.status, 413);
  EXPECT_THAT(large.body, AllOf(HasSubstr("resource_exhausted"), HasSubstr("REQUEST_TOO_LARGE")));
}

TEST_F(WebServerTest, AStreamGoesOutInEnvelopes) {
  const WebAnswer answer = Stream("ResolverService/PlanLayouts", WriteEnvelope(0, "{}"));
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.Header("content-type"), "application/connect+json");
  const std::vector<std::string> messages = Messages(answer);
  ASSERT_EQ(messages.size(), 2u) << answer.body;
  EXPECT_EQ(messages[0], R"({"result":{"spaceCount":"42"}})");
  EXPECT_EQ(messages[1].substr(0, 1), "{");
  EXPECT_THAT(messages[1], Not(HasSubstr("error")));
  const std::vector<std::string> bad = Messages(Stream("ResolverService/PlanLayouts", WriteEnvelope(0, "{\"a\":1}")));
  ASSERT_EQ(bad.size(), 1u);
  EXPECT_THAT(bad[0], AllOf(HasSubstr(R"("code":"invalid_argument")"), HasSubstr(R"("field":"a")")));
  EXPECT_THAT(Messages(Stream("ResolverService/PlanLayouts", WriteEnvelope(0, "{}").substr(0, 6)))[0],
              HasSubstr("invalid_argument"));
  EXPECT_EQ(Call("ResolverService/PlanLayouts", "{}").status, 415);
}

TEST_F(WebServerTest, ABatchIsSentWholeAndAnsweredInParts) {
  std::string body;
  for (const char* id : {"a", "b", "c"}) {
    body += WriteEnvelope(0, absl::StrCat(R"({"requestId":")", id, R"(","resolve":)", kQuestion, "}"));
  }
  const std::vector<std::string> messages = Messages(Stream("ResolverService/BatchResolve", body));
  ASSERT_EQ(messages.size(), 4u);
  for (size_t i = 0; i < 3; ++i) EXPECT_THAT(messages[i], HasSubstr("fp1-m"));
}

// A body of a few KiB may hold many envelopes that are as large as a message may be.
TEST_F(WebServerTest, WhatEnvelopesUnpackToIsBoundedTogether) {
  const auto body = [](int count) {
    const std::string item = absl::StrCat(R"({"requestId":"a)", std::string(900'000, ' '), R"("})");
    std::string envelopes;
    for (int i = 0; i < count; ++i) envelopes += WriteEnvelope(kEnvelopeCompressed, Gzip(item));
    return envelopes;
  };
  const auto last = [&](int count) {
    return Messages(Call({"POST",
                          "/flightplan.v1.ResolverService/BatchResolve",
                          {{"content-type", "application/connect+json"}, {"connect-content-encoding", "gzip"}},
                          body(count)}))
        .back();
  };
  EXPECT_THAT(last(4), Not(HasSubstr("together")));
  EXPECT_THAT(last(40), AllOf(HasSubstr("resource_exhausted"), HasSubstr("together")));
}

TEST_F(WebServerTest, TheTimeThatACallerGivesIsKept) {
  control_->Close();
  const WebAnswer answer = Call(kResolve, kQuestion, {{"connect-timeout-ms", "50"}});
  EXPECT_EQ(answer.status, 504);
  EXPECT_THAT(answer.body, HasSubstr("deadline_exceeded"));
  control_->Open();
}

TEST_F(WebServerTest, ASearchEndsWithItsCaller) {
  {
    boost::asio::io_context io;
    boost::asio::ip::tcp::socket socket(io);
    socket.connect({boost::asio::ip::address_v4::loopback(), static_cast<uint16_t>(server_->web_port())});
    const std::string body = WriteEnvelope(0, R"({"planCount":100})");
    boost::asio::write(socket, boost::asio::buffer(absl::StrCat(
                                   "POST /flightplan.v1.ResolverService/PlanLayouts HTTP/1.1\r\nHost: localhost\r\n"
                                   "Content-Type: application/connect+json\r\nContent-Length: ",
                                   body.size(), "\r\n\r\n", body)));
    while (control_->waiting == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  for (int i = 0; i < 10'000 && control_->waiting > 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(control_->waiting, 0);
}

TEST_F(WebServerTest, TokensRolesAndQuotasAreThoseOfGrpc) {
  settings_.token_file = Write("tokens.yaml", kTokens);
  settings_.quota_file = Write("quotas.yaml", "tenants:\n  - {name: research, calls_per_second: 2, concurrent: 2}\n");
  StartServer();
  EXPECT_EQ(Call(kResolve, kQuestion).status, 401);
  EXPECT_EQ(Call(kResolve, "{no JSON").status, 401) << "a stranger's message is not read";
  EXPECT_THAT(Messages(Stream("ResolverService/PlanLayouts", "no envelope"))[0], HasSubstr("unauthenticated"));
  EXPECT_EQ(Call(kResolve, kQuestion, {{"authorization", "Bearer wrong"}}).status, 401);
  EXPECT_EQ(Call(kResolve, kQuestion, {{"cookie", "authorization=Bearer open sesame"}}).status, 401) << "no cookies";
  const WebAnswer role = Call(kResolve, kQuestion, {{"authorization", "Bearer read only"}});
  EXPECT_EQ(role.status, 403);
  EXPECT_THAT(role.body, HasSubstr("ROLE_MISSING"));
  ExpectMetricBecomes(R"(grpc_server_handled_total{grpc_code="Unauthenticated",grpc_method="ResolveConfig",)"
                      R"(grpc_service="flightplan.v1.ResolverService",grpc_type="unary"})",
                      4);
  int over = 0;
  for (int i = 0; i < 20; ++i)
    over += Call(kResolve, kQuestion, {{"authorization", "Bearer open sesame"}}).status == 429;
  EXPECT_GT(over, 0);
  EXPECT_GT(Metric(R"(flightplan_tenant_shed_total{tenant="research"})"), 0);
}

TEST_F(WebServerTest, ACertificateOfTlsIsTheCallersAndAHeaderIsNot) {
  const Authority ours("ours");
  const Authority clients("clients");
  const KeyAndCertificate server = ours.Issue({.common_name = "server"});
  settings_.tls_key_file = Write("key.pem", server.key);
  settings_.tls_cert_file = Write("cert.pem", server.certificate);
  settings_.tls_client_ca_file = Write("clients.pem", clients.certificate());
  settings_.token_file = Write("tokens.yaml", kTokens);
  StartServer();
  const KeyAndCertificate launcher = clients.Issue({.common_name = "x", .uri = "spiffe://cluster/launcher"});
  const KeyAndCertificate stranger = clients.Issue({.common_name = "stranger"});
  const auto ask = [&](const WebRequest& request, const KeyAndCertificate& own) {
    return WebCallTls(server_->web_port(), request, ours.certificate(), own).status;
  };
  WebRequest request = JsonCall(kResolve, kQuestion);
  EXPECT_EQ(ask(request, launcher), 200);
  EXPECT_EQ(ask(request, stranger), 401);
  EXPECT_EQ(ask(request, {}), 0) << "no handshake without one";
  std::string der;
  for (absl::string_view line : absl::StrSplit(launcher.certificate, '\n')) {
    if (!absl::StartsWith(line, "-----")) absl::StrAppend(&der, line);
  }
  request.headers.push_back({"flightplan-client-certificate-bin", der});
  EXPECT_EQ(ask(request, stranger), 401) << "what a caller says of itself is not believed";
}

TEST_F(WebServerTest, NamesAndOriginsThatAreNotOursAreTurnedAway) {
  settings_.web_host = {"plan.example.com"};
  settings_.web_origin = {"https://notebook.example.com"};
  StartServer();
  EXPECT_EQ(Call(kResolve, kQuestion, {{"host", "plan.example.com"}}).status, 200);
  EXPECT_EQ(Call(kResolve, kQuestion, {{"host", "evil.example.com"}}).status, 403);
  EXPECT_EQ(Call(kResolve, kQuestion, {{"origin", "https://evil.example.com"}}).status, 403);
  const WebAnswer listed = Call(kResolve, kQuestion, {{"origin", "https://notebook.example.com"}});
  EXPECT_EQ(listed.status, 200);
  EXPECT_EQ(listed.Header("access-control-allow-origin"), "https://notebook.example.com");
  EXPECT_EQ(Metric(R"(flightplan_http_dropped_total{listener="web_listen",reason="foreign"})"), 2);
}

TEST_F(WebServerTest, CallsOfBrowsersLeaveHalfOfAllPlacesToGrpc) {
  settings_.max_in_flight = 4;
  StartServer();
  control_->Close();
  std::vector<std::thread> waiting;
  waiting.reserve(2);
  for (int i = 0; i < 2; ++i) {
    waiting.emplace_back([&, i] { Call(kResolve, absl::StrCat(R"({"model":{"name":"m)", i, R"("}})")); });
  }
  while (control_->waiting < 1) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  WebAnswer third;
  for (int i = 0; i < 1000 && third.status != 429; ++i) {
    third = Call(kResolve, R"({"model":{"name":"n"}})", {{"connect-timeout-ms", "20"}});
  }
  EXPECT_EQ(third.status, 429);
  control_->Open();
  for (std::thread& thread : waiting) thread.join();
  ExpectHealthy();
}

TEST_F(WebServerTest, AServerThatEndsLeavesNoCallBehind) {
  control_->Close();
  WebAnswer answer;
  std::thread caller([&] { answer = Call(kResolve, kQuestion); });
  while (control_->waiting == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    control_->Open();
  });
  server_->Stop();
  server_.reset();
  caller.join();
  opener.join();
  EXPECT_EQ(answer.status, 200) << answer.body;
}

}  // namespace
}  // namespace flightplan::service
