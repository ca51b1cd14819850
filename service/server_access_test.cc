// Who gets in: TLS, client certificates, tokens, roles and quotas, over a real port.
#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "flightplan/v1/catalog_service.grpc.pb.h"
#include "flightplan/v1/evidence_service.grpc.pb.h"
#include "flightplan/v1/fleet_service.grpc.pb.h"
#include "flightplan/v1/resolver_service.grpc.pb.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "gtest/gtest.h"
#include "resolver/catalog/catalog.h"
#include "service/server.h"
#include "service/testing/fake_backend.h"
#include "service/testing/http_get.h"
#include "service/testing/pki.h"
#include "tests/support/temporary_folder.h"

namespace flightplan::service {
namespace {

using grpc::ClientContext;
using grpc::StatusCode;

// printf %s "open sesame" | sha256sum; and so on
constexpr char kTokens[] = R"(tokens:
  - {sha256: 41ef4bb0b23661e66301aac36066912dac037827b4ae63a7b1165a5aa93ed4eb, tenant: research, roles: [resolve], expires: 2126-01-01T00:00:00Z}
  - {sha256: 1e5e3ce20c720a1021d8f9f5e8f7c3055a97315c79230508bbd37b08502208db, tenant: reading, roles: [read], expires: 2126-01-01T00:00:00Z}
  - {sha256: ce2b25de08e05059b99f1054253763b0be04002186536083780967e908354a61, tenant: reading, roles: [read], expires: 2020-01-01T00:00:00Z}
certificates:
  - {name: "spiffe://cluster/launcher", tenant: launch, roles: [resolve]}
  - {name: "by-name", tenant: named, roles: [read]}
)";

std::string ReasonOf(const grpc::Status& status) {
  google::rpc::Status details;
  google::rpc::ErrorInfo info;
  if (!details.ParseFromString(status.error_details())) return "";
  for (const auto& any : details.details()) {
    if (any.UnpackTo(&info)) return info.reason();
  }
  return "";
}

template <class Detail>
bool Has(const grpc::Status& status, Detail* detail) {
  google::rpc::Status details;
  if (!details.ParseFromString(status.error_details())) return false;
  for (const auto& any : details.details()) {
    if (any.UnpackTo(detail)) return true;
  }
  return false;
}

class AccessServerTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& content) {
    ReplaceFile(folder_.File(name), content);
    return folder_.File(name);
  }
  void UseCertificate(const KeyAndCertificate& pair) {
    settings_.tls_key_file = Write("key.pem", pair.key);
    settings_.tls_cert_file = Write("cert.pem", pair.certificate);
  }
  absl::Status Start() {
    settings_.listen = {"127.0.0.1:0"};
    settings_.http_listen = "127.0.0.1:0";
    static const auto* const kCatalog = new Catalog(*Catalog::Builtin());
    auto server =
        Server::Start(settings_, std::make_shared<Catalog>(*kCatalog), std::make_unique<FakeBackend>(control_));
    if (!server.ok()) return server.status();
    server_ = *std::move(server);
    return absl::OkStatus();
  }

  std::shared_ptr<grpc::Channel> Plain() const { return Connect(grpc::InsecureChannelCredentials()); }
  std::shared_ptr<grpc::Channel> Secure(const std::string& roots, const KeyAndCertificate& own = {}) const {
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = roots;
    options.pem_private_key = own.key;
    options.pem_cert_chain = own.certificate;
    return Connect(grpc::SslCredentials(options));
  }
  std::shared_ptr<grpc::Channel> Connect(const std::shared_ptr<grpc::ChannelCredentials>& credentials) const {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel(absl::StrCat("localhost:", server_->ports()[0]), credentials, arguments);
  }

  static void Prepare(const std::string& token, ClientContext* context) {
    context->set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    if (!token.empty()) context->AddMetadata("authorization", "Bearer " + token);
  }
  static grpc::Status Resolve(const std::shared_ptr<grpc::Channel>& channel, const std::string& token = "",
                              ClientContext* given = nullptr) {
    ClientContext own;
    ClientContext* context = given == nullptr ? &own : given;
    Prepare(token, context);
    v1::ResolveConfigRequest request;
    request.mutable_model()->set_name("m");
    v1::ResolveConfigResponse response;
    return v1::ResolverService::NewStub(channel)->ResolveConfig(context, request, &response);
  }
  static grpc::Status List(const std::shared_ptr<grpc::Channel>& channel, const std::string& token = "") {
    ClientContext context;
    Prepare(token, &context);
    v1::ListGpusResponse response;
    return v1::CatalogService::NewStub(channel)->ListGpus(&context, {}, &response);
  }

  Settings settings_;
  std::shared_ptr<FakeBackend::Control> control_ = std::make_shared<FakeBackend::Control>();
  const TemporaryFolder folder_;
  std::unique_ptr<Server> server_;
};

TEST_F(AccessServerTest, ATokenOpensWhatItsRolesSayAndNothingElse) {
  settings_.token_file = Write("tokens.yaml", kTokens);
  ASSERT_TRUE(Start().ok());
  const auto channel = Plain();
  EXPECT_TRUE(Resolve(channel, "open sesame").ok());
  EXPECT_TRUE(List(channel, "read only").ok());
  const grpc::Status none = Resolve(channel);
  EXPECT_EQ(none.error_code(), StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(ReasonOf(none), "TOKEN_INVALID");
  for (const char* bad : {"open sesamf", "old one"}) {
    EXPECT_EQ(Resolve(channel, bad).error_code(), StatusCode::UNAUTHENTICATED) << bad;
  }
  const grpc::Status wrong_role = Resolve(channel, "read only");
  EXPECT_EQ(wrong_role.error_code(), StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(ReasonOf(wrong_role), "ROLE_MISSING");
  EXPECT_EQ(List(channel, "open sesame").error_code(), StatusCode::PERMISSION_DENIED);
  ClientContext context;
  Prepare("read only", &context);
  v1::ReportMeasurementResponse response;
  EXPECT_EQ(v1::EvidenceService::NewStub(channel)->ReportMeasurement(&context, {}, &response).error_code(),
            StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(control_->calls.load(), 1) << "what is refused never reaches the resolver";
}

TEST_F(AccessServerTest, OnlyAnOperatorSeesTheFleetsDecisions) {
  const std::string tokens = absl::StrCat(
      "tokens:\n  - {sha256: 9dc5c61d793b51ed7b77d8439715a2569ea086d16288e95d7ffe0798225560aa, tenant: ops, ",
      "roles: [admin], expires: 2126-01-01T00:00:00Z}\n", std::string(kTokens).substr(sizeof("tokens:")));
  const auto summarize = [&](const std::string& token, v1::SummarizeDecisionsResponse* answer) {
    ClientContext context;
    Prepare(token, &context);
    return v1::FleetService::NewStub(Plain())->SummarizeDecisions(&context, {}, answer);
  };
  v1::SummarizeDecisionsResponse answer;
  settings_.decision_log = "file:" + folder_.File("decisions");
  ASSERT_TRUE(Start().ok());
  const grpc::Status nobody = summarize("", &answer);
  EXPECT_EQ(nobody.error_code(), StatusCode::FAILED_PRECONDITION) << "nobody is an operator";
  EXPECT_EQ(ReasonOf(nobody), "OPERATORS_UNKNOWN");
  settings_.token_file = Write("tokens.yaml", tokens);
  ASSERT_TRUE(Start().ok());
  ASSERT_TRUE(Resolve(Plain(), "open sesame").ok());
  EXPECT_EQ(summarize("", &answer).error_code(), StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(summarize("open sesame", &answer).error_code(), StatusCode::PERMISSION_DENIED);
  const grpc::Status seen = summarize("run it", &answer);
  ASSERT_TRUE(seen.ok()) << seen.error_message();
  ASSERT_EQ(answer.decisions_size(), 1);
  EXPECT_EQ(answer.decisions(0).tenant(), "research");
  EXPECT_EQ(answer.decisions(0).rpc(), "ResolveConfig");
  EXPECT_EQ(answer.decisions(0).outcome(), "resolved");
  settings_.decision_log = "stdout";
  ASSERT_TRUE(Start().ok());
  EXPECT_EQ(summarize("run it", &answer).error_code(), StatusCode::FAILED_PRECONDITION) << "no file to read";
}

TEST_F(AccessServerTest, ADoorsReviewCountsOnceItsCallerIsKnown) {
  settings_.token_file = Write("tokens.yaml", kTokens);
  ASSERT_TRUE(Start().ok());
  const auto channel = Plain();
  const auto refused = [&] {
    const std::string text = HttpGet(server_->http_port(), "/metrics").body;
    const std::string series = R"(flightplan_door_reviews_total{door="slurm",mode="enforce",verdict="refused"} )";
    const size_t at = text.find(series);
    return at == std::string::npos ? -1 : std::atoi(text.c_str() + at + series.size());
  };
  for (const auto& [token, count] : {std::pair("", 0), std::pair("wrong", 0), std::pair("open sesame", 1)}) {
    ClientContext context;
    context.AddMetadata("x-flightplan-door-review", "slurm/enforce/refused");
    Resolve(channel, token, &context);
    EXPECT_EQ(refused(), count) << token;
  }
}

TEST_F(AccessServerTest, ABadFileIsNamedAtTheStart) {
  settings_.token_file = Write("tokens.yaml", "tokens:\n  - {tenant: t}\n");
  EXPECT_TRUE(absl::StrContains(Start().message(), "tokens.yaml:2:"));
  settings_.token_file = "";
  settings_.quota_file = Write("quotas.yaml", "default: {calls: 1}\n");
  EXPECT_TRUE(absl::StrContains(Start().message(), "quotas.yaml:1:"));
  settings_.quota_file = "";
  const Authority authority("ours");
  const KeyAndCertificate pair = authority.Issue({.common_name = "server"});
  settings_.tls_cert_file = Write("cert.pem", pair.certificate);
  settings_.tls_key_file = Write("key.pem", authority.Issue({.common_name = "other"}).key);
  EXPECT_TRUE(absl::StrContains(Start().message(), "is not the key of")) << Start();
  UseCertificate(authority.Issue({.common_name = "server", .seconds_from = -100, .seconds_to = -1}));
  EXPECT_TRUE(absl::StrContains(Start().message(), "expired")) << Start();
}

TEST_F(AccessServerTest, TlsAsksForOurAuthorityOnTheClientsSide) {
  const Authority ours("ours");
  const Authority other("other");
  UseCertificate(ours.Issue({.common_name = "server"}));
  ASSERT_TRUE(Start().ok());
  EXPECT_TRUE(Resolve(Secure(ours.certificate())).ok());
  EXPECT_EQ(Resolve(Secure(other.certificate())).error_code(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(Resolve(Plain()).error_code(), StatusCode::UNAVAILABLE);
  const std::string metrics = HttpGet(server_->http_port(), "/metrics").body;
  const std::string series = "flightplan_tls_certificate_expiry_timestamp_seconds{role=\"server\"} ";
  const size_t at = metrics.find(series);
  ASSERT_NE(at, std::string::npos);
  EXPECT_GT(std::stod(metrics.substr(at + series.size())), static_cast<double>(time(nullptr)));
}

TEST_F(AccessServerTest, AClientCertificateIsRequiredAndGivesTheTenant) {
  const Authority ours("ours");
  const Authority clients("clients");
  const Authority other("other");
  UseCertificate(ours.Issue({.common_name = "server"}));
  settings_.tls_client_ca_file = Write("clients.pem", clients.certificate());
  settings_.token_file = Write("tokens.yaml", kTokens);
  ASSERT_TRUE(Start().ok());
  const auto with = [&](const Authority& authority, const Authority::Wish& wish) {
    return Secure(ours.certificate(), authority.Issue(wish));
  };
  const auto launcher = with(clients, {.common_name = "x", .uri = "spiffe://cluster/launcher"});
  EXPECT_TRUE(Resolve(launcher).ok()) << Resolve(launcher).error_message();
  EXPECT_EQ(List(launcher).error_code(), StatusCode::PERMISSION_DENIED);
  EXPECT_TRUE(List(with(clients, {.common_name = "by-name"})).ok());
  EXPECT_EQ(Resolve(with(clients, {.common_name = "stranger"})).error_code(), StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(Resolve(with(clients, {.common_name = "spiffe://cluster/launcher"})).error_code(),
            StatusCode::UNAUTHENTICATED)
      << "a common name is no URI";
  EXPECT_TRUE(Resolve(with(clients, {.common_name = "stranger"}), "open sesame").ok()) << "a token beside it counts";
  // These never get as far as a call.
  EXPECT_EQ(Resolve(Secure(ours.certificate())).error_code(), StatusCode::UNAVAILABLE) << "no certificate";
  EXPECT_EQ(Resolve(with(other, {.common_name = "by-name"})).error_code(), StatusCode::UNAVAILABLE)
      << "wrong authority";
  EXPECT_EQ(Resolve(with(clients, {.common_name = "by-name", .seconds_to = -1})).error_code(), StatusCode::UNAVAILABLE)
      << "expired";
}

// What a front hands on, over a unix socket.
grpc::Status ListWith(const std::string& socket, const std::string& certificate_der, const std::string& token = "") {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  const auto channel = grpc::CreateCustomChannel("unix:" + socket, grpc::InsecureChannelCredentials(), arguments);
  ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  if (!token.empty()) context.AddMetadata("authorization", "Bearer " + token);
  if (!certificate_der.empty()) context.AddMetadata("flightplan-client-certificate-bin", certificate_der);
  v1::ListGpusResponse response;
  return v1::CatalogService::NewStub(channel)->ListGpus(&context, {}, &response);
}

// The bytes between the lines of a PEM file.
std::string Der(absl::string_view pem) {
  std::string base64, der;
  for (absl::string_view line : absl::StrSplit(pem, '\n')) {
    if (!absl::StartsWith(line, "-----")) absl::StrAppend(&base64, line);
  }
  EXPECT_TRUE(absl::Base64Unescape(base64, &der));
  return der;
}

TEST_F(AccessServerTest, OnlyTheFrontsSocketSpeaksForClientCertificates) {
  constexpr char kMore[] = R"(  - {name: "spiffe://cluster/reader", tenant: launch, roles: [read]}
unix_socket: {tenant: node, roles: [read]}
)";
  const Authority clients("clients");
  const std::string named = Der(clients.Issue({.common_name = "by-name"}).certificate);
  const std::string reader = Der(clients.Issue({.common_name = "x", .uri = "spiffe://cluster/reader"}).certificate);
  const std::string launcher = Der(clients.Issue({.common_name = "x", .uri = "spiffe://cluster/launcher"}).certificate);
  const std::string posing = Der(clients.Issue({.common_name = "spiffe://cluster/reader"}).certificate);
  settings_.token_file = Write("tokens.yaml", std::string(kTokens) + kMore);
  settings_.front_listen = "unix:" + folder_.File("front");
  ASSERT_TRUE(Start().ok());
  const std::string front = folder_.File("front");
  EXPECT_TRUE(ListWith(front, named).ok()) << ListWith(front, named).error_message();
  EXPECT_TRUE(ListWith(front, reader).ok());
  EXPECT_TRUE(ListWith(front, "", "read only").ok());
  EXPECT_EQ(ListWith(front, launcher).error_code(), StatusCode::PERMISSION_DENIED) << "its own roles";
  EXPECT_EQ(ListWith(front, named, "nobody's").error_code(), StatusCode::UNAUTHENTICATED) << "a token counts alone";
  EXPECT_EQ(ListWith(front, posing).error_code(), StatusCode::UNAUTHENTICATED) << "a common name is no URI";
  EXPECT_EQ(ListWith(front, "").error_code(), StatusCode::UNAUTHENTICATED) << "who comes by it is not on this machine";
  for (const std::string& bad : {std::string(3, '\0'), named.substr(0, named.size() / 2), std::string(4000, '\x30')}) {
    EXPECT_EQ(ListWith(front, bad).error_code(), StatusCode::UNAUTHENTICATED);
  }
  server_.reset();
  settings_.front_listen = "";
  settings_.token_file = Write("tokens.yaml", kTokens);
  ASSERT_TRUE(Start().ok());
  ClientContext context;
  Prepare("", &context);
  context.AddMetadata("flightplan-client-certificate-bin", named);
  v1::ListGpusResponse response;
  EXPECT_EQ(v1::CatalogService::NewStub(Plain())->ListGpus(&context, {}, &response).error_code(),
            StatusCode::UNAUTHENTICATED)
      << "anybody may send a header";
}

TEST_F(AccessServerTest, NewCertificatesNeedNoRestartAndOpenConnectionsStay) {
  const Authority before("before");
  const Authority after("after");
  UseCertificate(before.Issue({.common_name = "server"}));
  ASSERT_TRUE(Start().ok());
  const auto open = Secure(before.certificate());
  ASSERT_TRUE(Resolve(open).ok());
  UseCertificate(after.Issue({.common_name = "server"}));
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  bool taken = false;
  while (!taken && std::chrono::steady_clock::now() < give_up) taken = Resolve(Secure(after.certificate())).ok();
  EXPECT_TRUE(taken);
  EXPECT_TRUE(Resolve(open).ok());
}

TEST_F(AccessServerTest, ATenantOverItsQuotaIsSentAwayAndTheOtherIsNot) {
  settings_.token_file = Write("tokens.yaml", std::string(kTokens) + "  - {name: z, tenant: z, roles: [admin]}\n");
  settings_.quota_file = Write("quotas.yaml", "tenants:\n  - {name: research, calls_per_second: 0.001}\n");
  ASSERT_TRUE(Start().ok());
  const auto channel = Plain();
  EXPECT_TRUE(Resolve(channel, "open sesame").ok());
  ClientContext context;
  const grpc::Status over = Resolve(channel, "open sesame", &context);
  EXPECT_EQ(over.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ReasonOf(over), "QUOTA_EXCEEDED");
  google::rpc::QuotaFailure quota;
  ASSERT_TRUE(Has(over, &quota));
  EXPECT_EQ(quota.violations(0).subject(), "tenant:research");
  google::rpc::RetryInfo retry;
  ASSERT_TRUE(Has(over, &retry));
  EXPECT_GT(retry.retry_delay().seconds(), 900);
  EXPECT_EQ(context.GetServerTrailingMetadata().count("grpc-retry-pushback-ms"), 1u);
  EXPECT_TRUE(List(channel, "read only").ok());
  const std::string metrics = HttpGet(server_->http_port(), "/metrics").body;
  EXPECT_TRUE(absl::StrContains(metrics, "flightplan_tenant_shed_total{tenant=\"research\"} 1"));
  EXPECT_TRUE(absl::StrContains(metrics, "flightplan_tenant_shed_total{tenant=\"reading\"} 0"));
  EXPECT_TRUE(absl::StrContains(metrics, "flightplan_shed_total{reason=\"quota\"} 1"));
}

TEST_F(AccessServerTest, ATenantHasOnlySoManyCallsAtOnce) {
  settings_.token_file = Write("tokens.yaml", kTokens);
  settings_.quota_file = Write("quotas.yaml", "tenants:\n  - {name: research, concurrent: 1}\n");
  ASSERT_TRUE(Start().ok());
  const auto channel = Plain();
  control_->Close();
  std::thread first([&] { EXPECT_TRUE(Resolve(channel, "open sesame").ok()); });
  while (control_->waiting == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const grpc::Status second = Resolve(Plain(), "open sesame");
  EXPECT_EQ(second.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ReasonOf(second), "QUOTA_EXCEEDED");
  control_->Open();
  first.join();
  EXPECT_TRUE(Resolve(channel, "open sesame").ok());
}

TEST_F(AccessServerTest, EveryItemOfABatchCounts) {
  settings_.token_file = Write("tokens.yaml", kTokens);
  settings_.quota_file = Write("quotas.yaml", "tenants:\n  - {name: research, calls_per_second: 1}\n");
  ASSERT_TRUE(Start().ok());
  ClientContext context;
  Prepare("open sesame", &context);
  auto stream = v1::ResolverService::NewStub(Plain())->BatchResolve(&context);
  constexpr int kItems = 100;
  std::thread writer([&] {
    v1::BatchResolveRequest item;
    item.mutable_resolve()->mutable_model()->set_name("m");
    for (int i = 0; i < kItems; ++i) stream->Write(item);
    stream->WritesDone();
  });
  int answers = 0, refused = 0;
  v1::BatchResolveResponse response;
  while (stream->Read(&response)) {
    ++answers;
    refused += response.error().code() == static_cast<int>(StatusCode::RESOURCE_EXHAUSTED);
  }
  writer.join();
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(answers, kItems);
  EXPECT_GT(refused, kItems / 2);
  EXPECT_LT(refused, kItems);
}

}  // namespace
}  // namespace flightplan::service
