// What a server does beside answering; batches, load and hostile messages have tests of their own.
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "flightplan/v1/evidence_service.grpc.pb.h"
#include "flightplan/v1/probe_service.grpc.pb.h"
#include "resolver/base/reason.h"
#include "service/testing/server_fixture.h"
#include "tests/support/temporary_folder.h"

namespace flightplan::service {
namespace {

using grpc::ClientContext;
using grpc::StatusCode;

// HealthCheckRequest{service}: written by hand, the Debian package has no stubs.
std::string HealthRequest(const std::string& service) {
  return absl::StrCat("\x0a", std::string(1, static_cast<char>(service.size())), service);
}

TEST_F(ServerTest, HealthKnowsEveryServiceAndNoOther) {
  for (const char* name :
       {"flightplan.v1.ResolverService", "flightplan.v1.CatalogService", "flightplan.v1.EvidenceService",
        "flightplan.v1.ProbeService", "flightplan.v1.TimelineService", "flightplan.v1.FleetService"}) {
    std::string answer;
    EXPECT_TRUE(Raw("/grpc.health.v1.Health/Check", HealthRequest(name), &answer).ok()) << name;
    EXPECT_EQ(answer, std::string("\x08\x01", 2)) << name;
  }
  EXPECT_EQ(Raw("/grpc.health.v1.Health/Check", HealthRequest("nobody")).error_code(), StatusCode::NOT_FOUND);
}

TEST_F(ServerTest, ReflectionListsTheServicesUnlessTurnedOff) {
  const std::string list_services("\x3a\x01\x2a", 3);  // ServerReflectionRequest{list_services: "*"}
  const std::string method = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";
  std::string answer;
  EXPECT_TRUE(Raw(method, list_services, &answer).ok());
  for (const char* name :
       {"flightplan.v1.ResolverService", "flightplan.v1.CatalogService", "flightplan.v1.EvidenceService",
        "flightplan.v1.ProbeService", "flightplan.v1.TimelineService", "flightplan.v1.FleetService"}) {
    EXPECT_NE(answer.find(name), std::string::npos) << name;
  }
  settings_.reflection = false;
  StartServer();
  EXPECT_EQ(Raw(method, list_services).error_code(), StatusCode::UNIMPLEMENTED);
}

TEST_F(ServerTest, AnswersAndDescribesTheAnswerInTrailingMetadata) {
  ClientContext context;
  context.AddMetadata("x-request-id", "job-42.a_b");
  v1::ResolveConfigResponse response;
  ASSERT_TRUE(Resolve(RequestNamed("m"), &context, &response).ok());
  EXPECT_EQ(response.outcome(), v1::OUTCOME_RESOLVED);
  EXPECT_EQ(Initial(context, "x-request-id"), "job-42.a_b");
  EXPECT_EQ(Trailing(context, "x-flightplan-decision-id"), "fp1-m");
  EXPECT_EQ(Trailing(context, "x-flightplan-catalog-revision"), "cat-1");
  EXPECT_EQ(Trailing(context, "x-flightplan-evidence-revision"), "1");
  EXPECT_EQ(Trailing(context, "x-flightplan-cache"), "miss");
}

TEST_F(ServerTest, ReplacesARequestIdThatIsNotWellFormed) {
  for (const std::string& id : {std::string("has space"), std::string(129, 'a'), std::string("semi;colon")}) {
    ClientContext context;
    context.AddMetadata("x-request-id", id);
    v1::ResolveConfigResponse response;
    ASSERT_TRUE(Resolve(RequestNamed("m"), &context, &response).ok());
    EXPECT_NE(Initial(context, "x-request-id"), id);
    EXPECT_EQ(Initial(context, "x-request-id").size(), 32u);
  }
  ClientContext context;
  context.AddMetadata("x-request-id", std::string(128, 'a'));
  v1::ResolveConfigResponse response;
  ASSERT_TRUE(Resolve(RequestNamed("m"), &context, &response).ok());
  EXPECT_EQ(Initial(context, "x-request-id"), std::string(128, 'a'));
}

TEST_F(ServerTest, ACachedAnswerHasTheSameBytes) {
  const std::string method = "/flightplan.v1.ResolverService/ResolveConfig";
  const std::string request = RequestNamed("m").SerializeAsString();
  std::string first, second;
  ASSERT_TRUE(Raw(method, request, &first).ok());
  ASSERT_TRUE(Raw(method, request, &second).ok());
  EXPECT_FALSE(first.empty());
  EXPECT_EQ(first, second);
  EXPECT_EQ(control_->calls, 1);
  EXPECT_EQ(Metric("flightplan_cache_requests_total{result=\"hit\"}"), 1);
  EXPECT_EQ(Metric("flightplan_cache_requests_total{result=\"miss\"}"), 1);
  EXPECT_GT(Metric("flightplan_cache_bytes"), 0);
}

TEST_F(ServerTest, TheSameQuestionWrittenDifferentlyHitsTheCache) {
  v1::ResolveConfigRequest a = RequestNamed("m");
  v1::ResolveConfigRequest target_only;
  target_only.mutable_target()->set_framework("megatron-lm");
  v1::ResolveConfigRequest model_only;
  model_only.mutable_model()->set_name("m");
  // Fields in another order on the wire.
  const std::string reordered = target_only.SerializeAsString() + model_only.SerializeAsString();
  ASSERT_NE(reordered, a.SerializeAsString());
  const std::string method = "/flightplan.v1.ResolverService/ResolveConfig";
  std::string first, second, third;
  ASSERT_TRUE(Raw(method, a.SerializeAsString(), &first).ok());
  ASSERT_TRUE(Raw(method, reordered, &second).ok());
  ASSERT_TRUE(Raw(method, reordered, &third).ok());
  EXPECT_EQ(control_->calls, 1);
  EXPECT_EQ(first, second);
  EXPECT_EQ(first, third);
}

TEST_F(ServerTest, OtherQuestionsAndOtherRpcsMissTheCache) {
  ASSERT_TRUE(Resolve(RequestNamed("a")).ok());
  ASSERT_TRUE(Resolve(RequestNamed("b")).ok());
  EXPECT_EQ(control_->calls, 2);
  // The same bytes as a request of the other rpc.
  const std::string bytes = RequestNamed("a").SerializeAsString();
  Raw("/flightplan.v1.ResolverService/ValidateConfig", bytes);
  EXPECT_EQ(control_->calls, 3);
}

TEST_F(ServerTest, ErrorsAreNotCached) {
  control_->status = [](const auto&) { return absl::InvalidArgumentError("no"); };
  EXPECT_EQ(Resolve(RequestNamed("m")).error_code(), StatusCode::INVALID_ARGUMENT);
  control_->status = nullptr;
  EXPECT_TRUE(Resolve(RequestNamed("m")).ok());
}

TEST_F(ServerTest, WithoutCacheBytesEveryCallIsWorkedOut) {
  settings_.cache_bytes = 0;
  StartServer();
  ClientContext context;
  v1::ResolveConfigResponse response;
  ASSERT_TRUE(Resolve(RequestNamed("m"), &context, &response).ok());
  EXPECT_EQ(Trailing(context, "x-flightplan-cache"), "bypass");
  ASSERT_TRUE(Resolve(RequestNamed("m")).ok());
  EXPECT_EQ(control_->calls, 2);
}

TEST_F(ServerTest, EveryCodeOfTheBackendComesWithItsReason) {
  struct Row {
    absl::Status status;
    StatusCode code;
    const char* reason;
  };
  const Row rows[] = {
      {absl::InvalidArgumentError("x"), StatusCode::INVALID_ARGUMENT, "REQUEST_INVALID"},
      {absl::NotFoundError("x"), StatusCode::NOT_FOUND, "NAME_UNKNOWN"},
      {WithReason(absl::NotFoundError("x"), "MODEL_UNKNOWN"), StatusCode::NOT_FOUND, "MODEL_UNKNOWN"},
      {absl::FailedPreconditionError("x"), StatusCode::FAILED_PRECONDITION, "PRECONDITION_FAILED"},
      {absl::DeadlineExceededError("x"), StatusCode::DEADLINE_EXCEEDED, "DEADLINE_EXCEEDED"},
      {absl::CancelledError("x"), StatusCode::CANCELLED, "CANCELLED"},
      {absl::UnavailableError("x"), StatusCode::UNAVAILABLE, "DRAINING"},
      {absl::ResourceExhaustedError("x"), StatusCode::RESOURCE_EXHAUSTED, "OVERLOADED"},
      {absl::UnimplementedError("x"), StatusCode::UNIMPLEMENTED, "NOT_BUILT"},
      {absl::InternalError("x"), StatusCode::INTERNAL, "INTERNAL"},
      {absl::UnknownError("x"), StatusCode::INTERNAL, "INTERNAL"},
      {absl::DataLossError("x"), StatusCode::INTERNAL, "INTERNAL"},
  };
  for (const Row& row : rows) {
    control_->status = [status = row.status](const auto&) { return status; };
    const grpc::Status status = Resolve(RequestNamed("m"));
    EXPECT_EQ(status.error_code(), row.code) << row.status;
    EXPECT_EQ(ReasonIn(Details(status)), row.reason) << row.status;
  }
}

TEST_F(ServerTest, OurOwnFaultsShowTheRequestIdAndNothingElse) {
  control_->status = [](const auto&) { return absl::InternalError("secret path /etc/x"); };
  ClientContext context;
  context.AddMetadata("x-request-id", "req-7");
  v1::ResolveConfigResponse response;
  const grpc::Status status = Resolve(RequestNamed("m"), &context, &response);
  EXPECT_EQ(status.error_code(), StatusCode::INTERNAL);
  EXPECT_EQ(status.error_details().find("secret"), std::string::npos);
  EXPECT_EQ(status.error_message().find("secret"), std::string::npos);
  EXPECT_NE(status.error_message().find("req-7"), std::string::npos);
}

TEST_F(ServerTest, UnknownMethodsAreCountedAsOne) {
  const grpc::Status status = Raw("/flightplan.v1.ResolverService/NoSuchMethod", "");
  EXPECT_EQ(status.error_code(), StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(ReasonIn(Details(status)), "METHOD_UNKNOWN");
  Raw("/no.such.Service/Method", "");
  ExpectMetricBecomes(
      "grpc_server_handled_total{grpc_code=\"Unimplemented\",grpc_method=\"unknown\",grpc_service="
      "\"unknown\",grpc_type=\"unary\"}",
      2);
}

TEST_F(ServerTest, CatalogAnswersNotFoundWithTheNearestName) {
  ClientContext context;
  v1::GetModelRequest request;
  request.set_name("deepseek-v33");
  v1::ModelSpec model;
  const grpc::Status status = catalog_->GetModel(&context, request, &model);
  EXPECT_EQ(status.error_code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(ReasonIn(Details(status)), "MODEL_UNKNOWN");
  EXPECT_TRUE(absl::StrContains(status.error_message(), "deepseek-v3")) << status.error_message();
}

TEST_F(ServerTest, CatalogListsAreComplete) {
  std::set<std::string> names;
  v1::ListModelsRequest request;
  request.set_page_size(7);
  for (int page = 0; page < 100; ++page) {
    ClientContext context;
    v1::ListModelsResponse response;
    ASSERT_TRUE(catalog_->ListModels(&context, request, &response).ok());
    EXPECT_LE(response.models_size(), 7);
    for (const auto& model : response.models()) EXPECT_TRUE(names.insert(model.name()).second) << model.name();
    if (response.next_page_token().empty()) break;
    request.set_page_token(response.next_page_token());
  }
  EXPECT_EQ(names.size(), TestCatalog()->models().size());
}

TEST_F(ServerTest, HttpAnswersProbesAndVersion) {
  EXPECT_EQ(HttpGet(server_->http_port(), "/healthz").status, 200);
  EXPECT_EQ(HttpGet(server_->http_port(), "/readyz").status, 200);
  EXPECT_EQ(HttpGet(server_->http_port(), "/nothing").status, 404);
  const HttpAnswer version = HttpGet(server_->http_port(), "/version");
  EXPECT_TRUE(absl::StrContains(version.body, TestCatalog()->revision())) << version.body;
}

TEST_F(ServerTest, MetricsHoldEverySeriesFromTheStart) {
  const std::string text = Metrics();
  for (const std::string& method : AllMethods()) {
    const std::string name = method.substr(method.rfind('/') + 1);
    EXPECT_NE(text.find(absl::StrCat("grpc_server_handled_total{grpc_code=\"Internal\",grpc_method=\"", name, "\"")),
              std::string::npos)
        << name;
  }
  EXPECT_NE(text.find("\nprocess_resident_memory_bytes "), std::string::npos);
  EXPECT_NE(text.find("flightplan_build_info{"), std::string::npos);
}

TEST_F(ServerTest, MetricsCountCallsCodesAndFindings) {
  ASSERT_TRUE(Resolve(RequestNamed("m")).ok());
  ASSERT_TRUE(Resolve(RequestNamed("m")).ok());
  const std::string labels =
      "grpc_method=\"ResolveConfig\",grpc_service=\"flightplan.v1.ResolverService\",grpc_type=\"unary\"}";
  ExpectMetricBecomes(absl::StrCat("grpc_server_handled_total{grpc_code=\"OK\",", labels), 2);
  ExpectMetricBecomes(absl::StrCat("grpc_server_handling_seconds_count{", labels), 2);
  EXPECT_EQ(Metric(absl::StrCat("grpc_server_started_total{", labels)), 2);
  EXPECT_EQ(Metric(absl::StrCat("grpc_server_msg_sent_total{", labels)), 2);
  EXPECT_EQ(Metric("flightplan_findings_total{rule_id=\"fake.rule\",severity=\"warning\"}"), 2)
      << "an answer from the cache counts as well";
  EXPECT_EQ(Metric("flightplan_outcomes_total{outcome=\"resolved\",rpc=\"ResolveConfig\",target=\"megatron-lm\"}"), 2);
}

TEST(ServerStart, SaysWhichAddressIsTaken) {
  Settings settings;
  settings.listen = {"127.0.0.1:0"};
  settings.http_listen = "";
  const auto control = std::make_shared<FakeBackend::Control>();
  const auto first = Server::Start(settings, TestCatalog(), std::make_unique<FakeBackend>(control));
  ASSERT_TRUE(first.ok());
  settings.listen = {absl::StrCat("127.0.0.1:", (*first)->ports()[0])};
  const auto second = Server::Start(settings, TestCatalog(), std::make_unique<FakeBackend>(control));
  ASSERT_FALSE(second.ok());
  EXPECT_TRUE(absl::StrContains(second.status().message(), settings.listen[0])) << second.status();
}

TEST(ServerStart, ServesOnAUnixSocket) {
  const TemporaryFolder folder;
  const std::string path = folder.File("s.sock");
  Settings settings;
  settings.listen = {absl::StrCat("unix:", path)};
  settings.http_listen = "";
  const auto server =
      Server::Start(settings, TestCatalog(), std::make_unique<FakeBackend>(std::make_shared<FakeBackend::Control>()));
  ASSERT_TRUE(server.ok()) << server.status();
  const auto stub = v1::ResolverService::NewStub(
      grpc::CreateChannel(absl::StrCat("unix:", path), grpc::InsecureChannelCredentials()));
  ClientContext context;
  v1::ResolveConfigResponse response;
  EXPECT_TRUE(stub->ResolveConfig(&context, RequestNamed("m"), &response).ok());
}

TEST(ServerStart, LeavesTheSocketOfARunningServer) {
  const TemporaryFolder folder;
  const std::string path = folder.File("s.sock");
  Settings settings;
  settings.listen = {absl::StrCat("unix:", path)};
  settings.http_listen = "";
  const auto start = [&settings] {
    return Server::Start(settings, TestCatalog(),
                         std::make_unique<FakeBackend>(std::make_shared<FakeBackend::Control>()));
  };
  const auto first = start();
  ASSERT_TRUE(first.ok()) << first.status();
  for (const bool front : {false, true}) {
    if (front) settings.front_listen = std::exchange(settings.listen[0], "127.0.0.1:0");
    const auto second = start();
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.status().message(),
              absl::StrCat("cannot listen on unix:", path,
                           ": another program listens there: end it, or choose another path"));
    const auto stub = v1::ResolverService::NewStub(
        grpc::CreateChannel(absl::StrCat("unix:", path), grpc::InsecureChannelCredentials()));
    ClientContext context;
    v1::ResolveConfigResponse response;
    EXPECT_TRUE(stub->ResolveConfig(&context, RequestNamed("m"), &response).ok());
  }
}

}  // namespace
}  // namespace flightplan::service
