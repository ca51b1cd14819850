// The server in process, over a real port, with a stand-in for the resolver.
#include "service/server.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <set>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "flightplan/v1/catalog_service.grpc.pb.h"
#include "flightplan/v1/evidence_service.grpc.pb.h"
#include "flightplan/v1/probe_service.grpc.pb.h"
#include "flightplan/v1/resolver_service.grpc.pb.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/security/credentials.h"
#include "gtest/gtest.h"
#include "resolver/base/reason.h"
#include "resolver/catalog/catalog.h"
#include "service/answer_source.h"
#include "service/handlers/batch_resolve.h"
#include "service/status_mapping.h"
#include "service/testing/fake_backend.h"
#include "service/testing/http_get.h"
#include "service/wait_gate.h"

namespace flightplan::service {
namespace {

using grpc::ClientContext;
using grpc::StatusCode;

std::shared_ptr<const Catalog> TestCatalog() {
  static const auto* const kCatalog =
      new std::shared_ptr<const Catalog>(std::make_shared<Catalog>(*Catalog::Builtin()));
  return *kCatalog;
}

v1::ResolveConfigRequest RequestNamed(const std::string& name) {
  v1::ResolveConfigRequest request;
  request.mutable_model()->set_name(name);
  request.mutable_target()->set_framework("megatron-lm");
  return request;
}

google::rpc::Status Details(const grpc::Status& status) {
  google::rpc::Status details;
  EXPECT_TRUE(details.ParseFromString(status.error_details()));
  EXPECT_EQ(details.code(), static_cast<int>(status.error_code()));
  EXPECT_EQ(details.message(), status.error_message());
  return details;
}

template <class Detail>
std::optional<Detail> Find(const google::rpc::Status& status) {
  for (const auto& any : status.details()) {
    Detail detail;
    if (any.UnpackTo(&detail)) return detail;
  }
  return std::nullopt;
}

std::string ReasonIn(const google::rpc::Status& status) {
  const auto info = Find<google::rpc::ErrorInfo>(status);
  if (!info.has_value()) return "";
  EXPECT_EQ(info->domain(), "flightplan");
  return info->reason();
}

std::string Trailing(const ClientContext& context, const std::string& key) {
  const auto& metadata = context.GetServerTrailingMetadata();
  const auto found = metadata.find(key);
  return found == metadata.end() ? "" : std::string(found->second.data(), found->second.size());
}

std::string Initial(const ClientContext& context, const std::string& key) {
  const auto& metadata = context.GetServerInitialMetadata();
  const auto found = metadata.find(key);
  return found == metadata.end() ? "" : std::string(found->second.data(), found->second.size());
}

class ServerTest : public ::testing::Test {
 protected:
  void SetUp() override { StartServer(); }

  void StartServer() {
    channel_.reset();
    server_.reset();
    settings_.listen = {"127.0.0.1:0"};
    settings_.http_listen = "127.0.0.1:0";
    auto server = Server::Start(settings_, TestCatalog(), std::make_unique<FakeBackend>(control_));
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    channel_ = NewChannel();
    resolver_ = v1::ResolverService::NewStub(channel_);
    catalog_ = v1::CatalogService::NewStub(channel_);
  }

  std::shared_ptr<grpc::Channel> NewChannel() const {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(-1);
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel(absl::StrCat("127.0.0.1:", server_->ports()[0]),
                                     grpc::InsecureChannelCredentials(), arguments);
  }

  grpc::Status Resolve(const v1::ResolveConfigRequest& request, ClientContext* context,
                       v1::ResolveConfigResponse* response) {
    context->set_wait_for_ready(true);
    return resolver_->ResolveConfig(context, request, response);
  }
  grpc::Status Resolve(const v1::ResolveConfigRequest& request) {
    ClientContext context;
    v1::ResolveConfigResponse response;
    return Resolve(request, &context, &response);
  }

  // Any method with any bytes.
  grpc::Status Raw(const std::string& method, const std::string& bytes, std::string* answer = nullptr) {
    ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    grpc::GenericStub stub(channel_);
    grpc::CompletionQueue queue;
    const grpc::Slice slice(bytes);
    const grpc::ByteBuffer request(&slice, 1);
    auto call = stub.PrepareUnaryCall(&context, method, request, &queue);
    call->StartCall();
    grpc::ByteBuffer response;
    grpc::Status status;
    call->Finish(&response, &status, nullptr);
    void* tag = nullptr;
    bool ok = false;
    queue.Next(&tag, &ok);
    grpc::Slice out;
    if (answer != nullptr && response.Valid() && response.DumpToSingleSlice(&out).ok()) {
      answer->assign(reinterpret_cast<const char*>(out.begin()), out.size());
    }
    return status;
  }

  std::string Metrics() { return HttpGet(server_->http_port(), "/metrics").body; }
  // The value of one series; -1: not there.
  double Metric(const std::string& series) {
    const std::string text = Metrics();
    const size_t at = text.find(absl::StrCat("\n", series, " "));
    return at == std::string::npos ? -1 : std::atof(text.c_str() + at + 1 + series.size());
  }

  // A call's end is counted after its answer has left, so the figure may come a moment later.
  void ExpectMetricBecomes(const std::string& series, double value) {
    for (int i = 0; i < 2000 && Metric(series) != value; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_EQ(Metric(series), value) << series;
  }

  void ExpectHealthy() {
    std::string answer;
    EXPECT_TRUE(Raw("/grpc.health.v1.Health/Check", "", &answer).ok());
    EXPECT_EQ(answer, std::string("\x08\x01", 2)) << "SERVING";
    EXPECT_TRUE(Resolve(RequestNamed("healthy")).ok());
  }

  std::shared_ptr<FakeBackend::Control> control_ = std::make_shared<FakeBackend::Control>();
  Settings settings_;
  std::unique_ptr<Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::ResolverService::Stub> resolver_;
  std::unique_ptr<v1::CatalogService::Stub> catalog_;
};

// HealthCheckRequest{service}, HealthCheckResponse{status}: written by hand, the Debian package has no stubs.
std::string HealthRequest(const std::string& service) {
  return absl::StrCat("\x0a", std::string(1, static_cast<char>(service.size())), service);
}

TEST_F(ServerTest, HealthKnowsEveryServiceAndNoOther) {
  for (const char* name : {"flightplan.v1.ResolverService", "flightplan.v1.CatalogService",
                           "flightplan.v1.EvidenceService", "flightplan.v1.ProbeService"}) {
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
  for (const char* name : {"flightplan.v1.ResolverService", "flightplan.v1.CatalogService",
                           "flightplan.v1.EvidenceService", "flightplan.v1.ProbeService"}) {
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
      {absl::FailedPreconditionError("x"), StatusCode::FAILED_PRECONDITION, "TARGET_UNSUPPORTED"},
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

TEST_F(ServerTest, ManyViolationsStillReachTheCaller) {
  control_->status = [](const auto&) {
    google::rpc::BadRequest details;
    for (int i = 0; i < 100; ++i) {
      auto* violation = details.add_field_violations();
      violation->set_field(absl::StrCat("pinned_knobs[", i, "].name"));
      violation->set_description(std::string(200, 'd'));
    }
    absl::Status status = absl::InvalidArgumentError(std::string(5000, 'm'));
    status.SetPayload(kBadRequestPayload, absl::Cord(details.SerializeAsString()));
    return status;
  };
  const grpc::Status status = Resolve(RequestNamed("m"));
  ASSERT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_LE(status.error_details().size(), kMaxDetailBytes);
  const google::rpc::Status details = Details(status);
  const auto bad = Find<google::rpc::BadRequest>(details);
  ASSERT_TRUE(bad.has_value());
  EXPECT_GT(bad->field_violations_size(), 5);
  const auto info = Find<google::rpc::ErrorInfo>(details);
  EXPECT_EQ(info->metadata().at("violations_left_out"), absl::StrCat(100 - bad->field_violations_size()));
}

TEST_F(ServerTest, RequestSizeIsJudgedAtTheLimitAndOneAbove) {
  v1::ResolveConfigRequest request = RequestNamed("m");
  request.mutable_model()->set_hf_config_json(std::string(1 << 20, 'x'));
  const size_t over = request.ByteSizeLong() - (1 << 20);
  request.mutable_model()->mutable_hf_config_json()->resize((1 << 20) - over);
  ASSERT_EQ(request.ByteSizeLong(), size_t{1} << 20);
  EXPECT_TRUE(Resolve(request).ok());
  request.mutable_model()->mutable_hf_config_json()->push_back('x');
  const grpc::Status status = Resolve(request);
  EXPECT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(status.error_details().empty()) << "gRPC's own answer: not to be retried";
  ExpectHealthy();
}

TEST_F(ServerTest, AnswerSizeIsJudgedAtTheLimitAndOneAbove) {
  // Finds the padding that makes the answer exactly as large as the limit.
  control_->padding_bytes = kMaxAnswerBytes - 1000;
  std::string answer;
  ASSERT_TRUE(
      Raw("/flightplan.v1.ResolverService/ResolveConfig", RequestNamed("m1").SerializeAsString(), &answer).ok());
  control_->padding_bytes += kMaxAnswerBytes - answer.size();
  ASSERT_TRUE(
      Raw("/flightplan.v1.ResolverService/ResolveConfig", RequestNamed("m2").SerializeAsString(), &answer).ok());
  EXPECT_EQ(answer.size(), kMaxAnswerBytes);
  ++control_->padding_bytes;
  const grpc::Status status = Resolve(RequestNamed("m3"));
  EXPECT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ReasonIn(Details(status)), "ANSWER_TOO_LARGE");
  EXPECT_FALSE(Find<google::rpc::RetryInfo>(Details(status)).has_value());
}

TEST_F(ServerTest, ACallWhoseTimeIsOverIsNotAnswered) {
  control_->Close();
  ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(50));
  v1::ResolveConfigResponse response;
  EXPECT_EQ(resolver_->ResolveConfig(&context, RequestNamed("m"), &response).error_code(),
            StatusCode::DEADLINE_EXCEEDED);
  control_->Open();
  ExpectHealthy();
}

TEST_F(ServerTest, ACallThatTakesLongerThanTheServerAllowsEndsWithDeadlineExceeded) {
  settings_.max_deadline = absl::Milliseconds(20);
  StartServer();
  control_->status = [](const auto&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    return absl::OkStatus();
  };
  const grpc::Status status = Resolve(RequestNamed("m"));
  EXPECT_EQ(status.error_code(), StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(ReasonIn(Details(status)), "DEADLINE_EXCEEDED");
}

TEST_F(ServerTest, CallsBeyondTheLimitInFlightAreSentAwayWithADelay) {
  settings_.max_in_flight = 1;
  StartServer();
  control_->Close();
  std::thread first([this] { EXPECT_TRUE(Resolve(RequestNamed("first")).ok()); });
  while (control_->waiting == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));

  ClientContext context;
  v1::ResolveConfigResponse response;
  const grpc::Status status = Resolve(RequestNamed("second"), &context, &response);
  EXPECT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ReasonIn(Details(status)), "OVERLOADED");
  const auto retry = Find<google::rpc::RetryInfo>(Details(status));
  ASSERT_TRUE(retry.has_value());
  EXPECT_GE(retry->retry_delay().nanos(), 50'000'000);
  EXPECT_LE(retry->retry_delay().nanos(), 500'000'000);
  EXPECT_NE(Trailing(context, "grpc-retry-pushback-ms"), "");

  // Look-ups are answered under any load.
  ClientContext lookup;
  v1::ListGpusResponse gpus;
  EXPECT_TRUE(catalog_->ListGpus(&lookup, v1::ListGpusRequest(), &gpus).ok());
  EXPECT_EQ(Metric("flightplan_in_flight_requests"), 1);
  EXPECT_EQ(Metric("flightplan_shed_total{reason=\"in_flight\"}"), 1);
  control_->Open();
  first.join();
  ExpectMetricBecomes("flightplan_in_flight_requests", 0);
  EXPECT_TRUE(Resolve(RequestNamed("third")).ok());
}

TEST_F(ServerTest, CallsThatWouldWaitTooLongAreSentAwayWithADelay) {
  settings_.cache_bytes = 0;
  StartServer();
  control_->Close();
  const int workers = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  std::vector<std::thread> threads;
  for (int i = 0; i < workers; ++i) {
    threads.emplace_back([this, i] { EXPECT_TRUE(Resolve(RequestNamed(absl::StrCat("m", i))).ok()); });
  }
  while (control_->waiting < workers) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  for (int i = 0; i < workers; ++i) {
    threads.emplace_back([this, i] { EXPECT_TRUE(Resolve(RequestNamed(absl::StrCat("waits", i))).ok()); });
  }
  ExpectMetricBecomes("flightplan_in_flight_requests", 2 * workers);
  std::this_thread::sleep_for(WaitLimits().burst + std::chrono::milliseconds(5));

  ClientContext context;
  v1::ResolveConfigResponse response;
  const grpc::Status status = Resolve(RequestNamed("next"), &context, &response);
  EXPECT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ReasonIn(Details(status)), "OVERLOADED");
  EXPECT_TRUE(Find<google::rpc::RetryInfo>(Details(status)).has_value());
  EXPECT_NE(Trailing(context, "grpc-retry-pushback-ms"), "");
  control_->Open();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(control_->calls, 2 * workers) << "what is refused is not worked on";
  EXPECT_EQ(Metric("flightplan_shed_total{reason=\"queue\"}"), 1);
  EXPECT_EQ(Metric("flightplan_stage_seconds_count{stage=\"queue\"}"), 2 * workers);
}

TEST_F(ServerTest, APlanIsOneResultAtTheEndOfTheStream) {
  ClientContext context;
  v1::PlanLayoutsRequest request;
  request.set_plan_count(1);
  const auto stream = resolver_->PlanLayouts(&context, request);
  v1::PlanLayoutsResponse event;
  ASSERT_TRUE(stream->Read(&event));
  EXPECT_EQ(event.result().space_count(), 42);
  EXPECT_FALSE(stream->Read(&event));
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(ServerTest, ACallerThatGoesAwayEndsTheSearch) {
  ClientContext context;
  v1::PlanLayoutsRequest request;
  request.set_plan_count(100);  // the stand-in searches until it is stopped
  const auto stream = resolver_->PlanLayouts(&context, request);
  v1::PlanLayoutsResponse event;
  ASSERT_TRUE(stream->Read(&event));
  EXPECT_EQ(event.progress().done_ratio(), 0.5);
  EXPECT_EQ(control_->waiting.load(), 1);
  context.TryCancel();
  EXPECT_EQ(stream->Finish().error_code(), StatusCode::CANCELLED);
  for (int i = 0; i < 2000 && control_->waiting.load() > 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(control_->waiting.load(), 0);
}

TEST_F(ServerTest, ASearchEndsBeforeItsDeadlineWithTheBestSoFar) {
  ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(2));
  v1::PlanLayoutsRequest request;
  request.set_plan_count(100);
  const auto stream = resolver_->PlanLayouts(&context, request);
  v1::PlanLayoutsResponse event;
  bool result = false;
  while (stream->Read(&event)) result |= event.has_result();
  EXPECT_TRUE(result);
  EXPECT_TRUE(stream->Finish().ok());
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

// --- Batches ---------------------------------------------------------------------------------------------------------

TEST_F(ServerTest, BatchAnswersEveryItemWithItsId) {
  ClientContext context;
  auto stream = resolver_->BatchResolve(&context);
  constexpr int kItems = 2500;  // more than may be in flight at once
  std::thread writer([&] {
    for (int i = 0; i < kItems; ++i) {
      v1::BatchResolveRequest item;
      item.set_request_id(absl::StrCat("id-", i));
      if (i % 5 == 4) {
        item.mutable_validate()->mutable_arguments()->add_values("--x");
      } else if (i % 5 != 3) {
        *item.mutable_resolve() = RequestNamed(absl::StrCat("m", i % 17));
      }
      ASSERT_TRUE(stream->Write(item));
    }
    stream->WritesDone();
  });
  std::set<std::string> ids;
  v1::BatchResolveResponse response;
  while (stream->Read(&response)) {
    ASSERT_TRUE(ids.insert(response.request_id()).second) << response.request_id();
    const int i = std::atoi(response.request_id().c_str() + 3);
    if (i % 5 == 4) {
      EXPECT_TRUE(response.validate().will_run());
    } else if (i % 5 == 3) {
      EXPECT_EQ(response.error().code(), static_cast<int>(StatusCode::INVALID_ARGUMENT));
      EXPECT_EQ(ReasonIn(response.error()), "REQUEST_INVALID");
    } else {
      EXPECT_EQ(response.resolve().digest(), absl::StrCat("fp1-m", i % 17));
    }
  }
  writer.join();
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(ids.size(), size_t{kItems});
}

TEST_F(ServerTest, BatchItemsCarryTheErrorOfTheSameCallAlone) {
  control_->status = [](const auto&) { return WithReason(absl::FailedPreconditionError("old"), "TARGET_UNSUPPORTED"); };
  ClientContext context;
  auto stream = resolver_->BatchResolve(&context);
  v1::BatchResolveRequest item;
  item.set_request_id("a");
  *item.mutable_resolve() = RequestNamed("m");
  ASSERT_TRUE(stream->Write(item));
  v1::BatchResolveResponse response;
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(response.request_id(), "a");
  EXPECT_EQ(response.error().code(), static_cast<int>(StatusCode::FAILED_PRECONDITION));
  EXPECT_EQ(ReasonIn(response.error()), "TARGET_UNSUPPORTED");
  // The stream goes on.
  item.set_request_id(std::string(kMaxBatchIdBytes + 1, 'b'));
  ASSERT_TRUE(stream->Write(item));
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(response.error().code(), static_cast<int>(StatusCode::INVALID_ARGUMENT));
  stream->WritesDone();
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(ServerTest, BatchKeepsAtMostItsLimitInFlight) {
  control_->Close();
  ClientContext context;
  auto stream = resolver_->BatchResolve(&context);
  std::atomic<int> written{0};
  std::thread writer([&] {
    for (int i = 0; i < 3 * kMaxBatchInFlight; ++i) {
      v1::BatchResolveRequest item;
      item.set_request_id(std::to_string(i));
      *item.mutable_resolve() = RequestNamed(absl::StrCat("m", i));
      if (!stream->Write(item)) return;
      ++written;
    }
    stream->WritesDone();
  });
  const std::string received =
      "grpc_server_msg_received_total{grpc_method=\"BatchResolve\",grpc_service="
      "\"flightplan.v1.ResolverService\",grpc_type=\"bidi_stream\"}";
  while (Metric(received) < kMaxBatchInFlight) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(Metric(received), kMaxBatchInFlight);
  control_->Open();
  int answers = 0;
  v1::BatchResolveResponse response;
  while (stream->Read(&response)) ++answers;
  writer.join();
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(answers, 3 * kMaxBatchInFlight);
}

TEST_F(ServerTest, ABatchThatTheCallerDropsLeavesNothingBehind) {
  control_->Close();
  {
    ClientContext context;
    auto stream = resolver_->BatchResolve(&context);
    v1::BatchResolveRequest item;
    *item.mutable_resolve() = RequestNamed("m");
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(stream->Write(item));
    while (control_->waiting == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    context.TryCancel();
    EXPECT_EQ(stream->Finish().error_code(), StatusCode::CANCELLED);
  }
  control_->Open();
  ExpectMetricBecomes("flightplan_in_flight_requests", 0);
  ExpectHealthy();
}

TEST_F(ServerTest, AnIdleBatchEndsAtTheServersDeadline) {
  settings_.max_deadline = absl::Milliseconds(50);
  StartServer();
  ClientContext context;
  auto stream = resolver_->BatchResolve(&context);
  v1::BatchResolveResponse response;
  EXPECT_FALSE(stream->Read(&response));
  const grpc::Status status = stream->Finish();
  EXPECT_EQ(status.error_code(), StatusCode::DEADLINE_EXCEEDED);
  ExpectMetricBecomes("flightplan_in_flight_requests", 0);
}

// What a batch reports to (metrics, log) may be gone as soon as the server has stopped: nothing of it comes later.
TEST_F(ServerTest, ABatchIsCountedBeforeTheServerHasStopped) {
  settings_.cache_bytes = 0;
  for (int round = 0; round < 10; ++round) {
    StartServer();
    ClientContext context;
    auto stream = resolver_->BatchResolve(&context);
    v1::BatchResolveRequest item;
    *item.mutable_resolve() = RequestNamed("m");
    ASSERT_TRUE(stream->Write(item));
    stream->WritesDone();
    v1::BatchResolveResponse response;
    ASSERT_TRUE(stream->Read(&response));
    EXPECT_TRUE(stream->Finish().ok());
    server_->Stop();
    ASSERT_EQ(Metric("grpc_server_handled_total{grpc_code=\"OK\",grpc_method=\"BatchResolve\",grpc_service="
                     "\"flightplan.v1.ResolverService\",grpc_type=\"bidi_stream\"}"),
              1)
        << "round " << round;
  }
}

TEST_F(ServerTest, ABatchMessageThatCannotBeReadEndsTheStream) {
  const grpc::Status status = Raw("/flightplan.v1.ResolverService/BatchResolve", "\xff\xff\xff");
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(ReasonIn(Details(status)), "REQUEST_INVALID");
  ExpectHealthy();
}

// --- Garbage ---------------------------------------------------------------------------------------------------------

std::vector<std::string> AllMethods() {
  std::vector<std::string> methods;
  for (const google::protobuf::FileDescriptor* file :
       {v1::ResolveConfigRequest::descriptor()->file(), v1::GetModelRequest::descriptor()->file(),
        v1::GetMeasurementRequest::descriptor()->file(), v1::RunProbeRequest::descriptor()->file()}) {
    const auto* service = file->service(0);
    for (int i = 0; i < service->method_count(); ++i) {
      methods.push_back(absl::StrCat("/", service->full_name(), "/", service->method(i)->name()));
    }
  }
  return methods;
}

TEST_F(ServerTest, SurvivesRandomBytesOnEveryMethod) {
  std::mt19937 random(20261120);
  ASSERT_EQ(AllMethods().size(), 21u);
  for (const std::string& method : AllMethods()) {
    for (int i = 0; i < 40; ++i) {
      std::string bytes(random() % 200, '\0');
      for (char& c : bytes) c = static_cast<char>(random());
      const grpc::Status status = Raw(method, bytes);
      EXPECT_NE(status.error_code(), StatusCode::INTERNAL) << method;
      EXPECT_NE(status.error_code(), StatusCode::UNKNOWN) << method;
      EXPECT_NE(status.error_code(), StatusCode::UNAVAILABLE) << method;
    }
  }
  ExpectHealthy();
}

TEST_F(ServerTest, RefusesTruncatedMessages) {
  v1::ResolveConfigRequest request = RequestNamed("deepseek-v3");
  request.mutable_hardware()->set_gpu("h100-sxm");
  const std::string bytes = request.SerializeAsString();
  int refused = 0;
  for (size_t length = 0; length < bytes.size(); ++length) {
    const grpc::Status status = Raw("/flightplan.v1.ResolverService/ResolveConfig", bytes.substr(0, length));
    if (status.ok()) continue;  // cut between two fields
    EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(ReasonIn(Details(status)), "REQUEST_INVALID");
    EXPECT_TRUE(Find<google::rpc::BadRequest>(Details(status)).has_value());
    ++refused;
  }
  EXPECT_GT(refused, 10);
  ExpectHealthy();
}

TEST_F(ServerTest, RefusesAHundredMegabytesWithoutReadingThem) {
  const std::string bytes(100 << 20, 'x');
  for (const std::string& method : AllMethods()) {
    EXPECT_EQ(Raw(method, bytes).error_code(), StatusCode::RESOURCE_EXHAUSTED) << method;
    if (method == AllMethods()[1]) break;  // two methods are enough; each copies the hundred megabytes
  }
  ExpectHealthy();
}

TEST_F(ServerTest, PassesOnValuesThatMeanNothing) {
  v1::ResolveConfigRequest request = RequestNamed("m");
  request.mutable_hardware()->set_gpu_count(std::numeric_limits<int32_t>::min());
  request.mutable_workload()->set_seq_length(-1);
  request.set_stage(static_cast<v1::Stage>(12345));
  request.mutable_profile()->set_host_gap_ratio(std::nan(""));
  request.mutable_profile()->set_step_time_us(-std::numeric_limits<double>::infinity());
  std::atomic<int> seen{0};
  control_->status = [&](const v1::ResolveConfigRequest& r) {
    seen = r.stage();
    return std::isnan(r.profile().host_gap_ratio()) ? absl::OkStatus() : absl::InternalError("lost");
  };
  EXPECT_TRUE(Resolve(request).ok());
  EXPECT_EQ(seen, 12345) << "the resolver judges unknown enum values, so they must reach it";
}

TEST_F(ServerTest, RefusesTextThatIsNoUtf8) {
  // model { name: "\xff" }
  const grpc::Status status =
      Raw("/flightplan.v1.ResolverService/ResolveConfig", std::string("\x0a\x03\x0a\x01\xff", 5));
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
}

TEST_F(ServerTest, RefusesCompressedMessages) {
  ClientContext context;
  context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
  v1::ResolveConfigRequest request = RequestNamed(std::string(100'000, 'x'));
  v1::ResolveConfigResponse response;
  EXPECT_EQ(Resolve(request, &context, &response).error_code(), StatusCode::UNIMPLEMENTED);
  ExpectHealthy();
}

// --- HTTP and stop ---------------------------------------------------------------------------------------------------

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

TEST_F(ServerTest, StopsWithoutLosingTheCallsInFlight) {
  control_->Close();
  std::thread in_flight([this] { EXPECT_TRUE(Resolve(RequestNamed("slow")).ok()); });
  while (control_->waiting == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));

  server_->Drain();
  std::string answer;
  EXPECT_TRUE(Raw("/grpc.health.v1.Health/Check", "", &answer).ok());
  EXPECT_EQ(answer, std::string("\x08\x02", 2)) << "NOT_SERVING";
  EXPECT_EQ(HttpGet(server_->http_port(), "/readyz").status, 503);
  EXPECT_EQ(HttpGet(server_->http_port(), "/healthz").status, 200);
  ClientContext lookup;
  v1::ListGpusResponse gpus;
  EXPECT_TRUE(catalog_->ListGpus(&lookup, v1::ListGpusRequest(), &gpus).ok()) << "serves on while draining";

  std::thread stopper([this] { server_->Stop(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  control_->Open();
  in_flight.join();
  stopper.join();
  ClientContext late;
  v1::ResolveConfigResponse response;
  EXPECT_EQ(resolver_->ResolveConfig(&late, RequestNamed("late"), &response).error_code(), StatusCode::UNAVAILABLE);
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
  const std::string path = absl::StrCat(::testing::TempDir(), "fp-", getpid(), ".sock");
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

}  // namespace
}  // namespace flightplan::service
