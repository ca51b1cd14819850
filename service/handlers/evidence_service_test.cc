// EvidenceService over a real port, on real stores.
#include <sqlite3.h>
#include <stdlib.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "flightplan/v1/evidence_service.grpc.pb.h"
#include "flightplan/v1/resolver_service.grpc.pb.h"
#include "google/protobuf/util/json_util.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "gtest/gtest.h"
#include "resolver/catalog/catalog.h"
#include "service/evidence/evidence_location.h"
#include "service/server.h"
#include "service/testing/fake_backend.h"
#include "service/testing/http_get.h"
#include "service/testing/postgres.h"
#include "service/testing/web_call.h"
#include "tests/support/temporary_folder.h"

namespace flightplan::service {
namespace {

using grpc::ClientContext;
using grpc::StatusCode;

google::rpc::Status Details(const grpc::Status& status) {
  google::rpc::Status details;
  details.ParseFromString(status.error_details());
  return details;
}

std::string ReasonOf(const grpc::Status& status) {
  google::rpc::ErrorInfo info;
  const google::rpc::Status details = Details(status);
  for (const auto& any : details.details()) {
    if (any.UnpackTo(&info)) return info.reason();
  }
  return "";
}

bool AsksToRetry(const grpc::Status& status) {
  const google::rpc::Status details = Details(status);
  for (const auto& any : details.details()) {
    if (any.Is<google::rpc::RetryInfo>()) return true;
  }
  return false;
}

v1::Measurement ReportedRun(const std::string& id, double value = 1e6) {
  v1::Measurement m;
  m.set_id(id);
  m.set_metric("step_time_us");
  m.set_value(value);
  m.set_model("m");
  m.set_gpu("g");
  m.set_quality("matched");
  return m;
}

constexpr char kReportsReceived[] =
    "grpc_server_msg_received_total{grpc_method=\"ReportMeasurement\",grpc_service=\"flightplan.v1.EvidenceService\","
    "grpc_type=\"unary\"}";

class EvidenceServiceTest : public testing::Test {
 protected:
  void Start(const std::string& store) {
    Settings settings;
    settings.listen = {"127.0.0.1:0"};
    settings.http_listen = "127.0.0.1:0";
    settings.evidence_store = store;
    settings.max_in_flight = max_in_flight_;
    if (web_) settings.web_listen = "127.0.0.1:0";
    stub_.reset();
    server_.reset();
    auto server = Server::Start(settings, std::make_shared<const Catalog>(*Catalog::Builtin()),
                                std::make_unique<FakeBackend>(std::make_shared<FakeBackend::Control>()));
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    channel_ = grpc::CreateChannel(absl::StrCat("127.0.0.1:", server_->ports()[0]), grpc::InsecureChannelCredentials());
    stub_ = v1::EvidenceService::NewStub(channel_);
  }
  std::string Store() const { return absl::StrCat("sqlite:", folder_.File("evidence.db")); }
  grpc::Status Report(const v1::Measurement& m, v1::ReportMeasurementResponse* response) {
    ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    v1::ReportMeasurementRequest request;
    *request.mutable_measurement() = m;
    return stub_->ReportMeasurement(&context, request, response);
  }
  grpc::Status Report(const v1::Measurement& m) {
    v1::ReportMeasurementResponse response;
    return Report(m, &response);
  }
  grpc::Status List(const v1::ListMeasurementsRequest& request, v1::ListMeasurementsResponse* response) {
    ClientContext context;
    return stub_->ListMeasurements(&context, request, response);
  }
  double Metric(const std::string& series) {
    const std::string text = HttpGet(server_->http_port(), "/metrics").body;
    const size_t at = text.find(absl::StrCat("\n", series, " "));
    return at == std::string::npos ? -1 : std::atof(text.c_str() + at + 1 + series.size());
  }

  const TemporaryFolder folder_;
  int64_t max_in_flight_ = 0;  // as the server has it
  bool web_ = false;           // with a port for browsers
  std::unique_ptr<Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::EvidenceService::Stub> stub_;
};

TEST_F(EvidenceServiceTest, KeepsAReportAcrossARestart) {
  const std::string store = Store();
  Start(store);
  v1::Measurement report = ReportedRun("job-1");
  report.set_tenant("mallory");
  report.set_trust("operator");
  report.set_revision(77);
  v1::ReportMeasurementResponse response;
  ASSERT_TRUE(Report(report, &response).ok());
  EXPECT_EQ(response.revision(), 2);
  EXPECT_EQ(response.measurement().id(), "job-1");
  EXPECT_EQ(response.measurement().trust(), "tenant") << "what the server sets is not the reporter's";
  EXPECT_EQ(response.measurement().tenant(), "");
  EXPECT_EQ(response.measurement().revision(), 2);
  EXPECT_TRUE(response.measurement().has_receive_time());
  const v1::Measurement stored = response.measurement();

  Start(store);
  ClientContext context;
  v1::GetMeasurementRequest request;
  request.set_id("job-1");
  v1::Measurement found;
  ASSERT_TRUE(stub_->GetMeasurement(&context, request, &found).ok());
  EXPECT_EQ(found.SerializeAsString(), stored.SerializeAsString());
}

TEST_F(EvidenceServiceTest, AnIdHasOneContent) {
  Start(Store());
  ASSERT_TRUE(Report(ReportedRun("job-1")).ok());
  v1::ReportMeasurementResponse again;
  EXPECT_TRUE(Report(ReportedRun("job-1"), &again).ok());
  EXPECT_EQ(again.revision(), 2);
  EXPECT_EQ(again.measurement().revision(), 2);
  const grpc::Status other = Report(ReportedRun("job-1", 2e6));
  EXPECT_EQ(other.error_code(), StatusCode::ALREADY_EXISTS);
  EXPECT_EQ(ReasonOf(other), "EVIDENCE_CONFLICT");
}

TEST_F(EvidenceServiceTest, RefusesNonsense) {
  Start(Store());
  v1::Measurement nonsense = ReportedRun("job-1");
  nonsense.set_model("nonsense");
  EXPECT_EQ(Report(nonsense).error_code(), StatusCode::INVALID_ARGUMENT);
  ClientContext context;
  v1::Measurement found;
  const grpc::Status unknown = stub_->GetMeasurement(&context, v1::GetMeasurementRequest(), &found);
  EXPECT_EQ(unknown.error_code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(ReasonOf(unknown), "MEASUREMENT_UNKNOWN");
}

TEST_F(EvidenceServiceTest, RefusesAReportThatIsTooLarge) {
  Start(Store());
  v1::Measurement large = ReportedRun("job-1");
  for (int i = 0; i < 800; ++i)
    (*large.mutable_software()->mutable_packages())[absl::StrCat(i)] = std::string(1000, 'x');
  const grpc::Status refused = Report(large);
  EXPECT_EQ(refused.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_NE(refused.error_details().find("measurement.software.packages"), std::string::npos)
      << refused.error_message();
  // Fields that this release does not know count too.
  v1::Measurement unknown = ReportedRun("job-1");
  unknown.GetReflection()->MutableUnknownFields(&unknown)->AddLengthDelimited(9999, std::string(500'000, 'x'));
  EXPECT_EQ(Report(unknown).error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_TRUE(Report(ReportedRun("job-1")).ok());
  EXPECT_EQ(Metric("flightplan_evidence_measurements"), 1);
  EXPECT_GT(Metric("flightplan_evidence_bytes"), 20);
  EXPECT_LT(Metric("flightplan_evidence_bytes"), 200);
}

TEST_F(EvidenceServiceTest, WhatAnEarlierReleaseTookTooLargeIsListedShortAndNotUsed) {
  const std::string location = Store();
  {
    v1::Measurement large = ReportedRun("large");
    (*large.mutable_software()->mutable_packages())["p"] = std::string(900'000, 'x');
    EvidenceRecord record;
    record.id = large.id();
    record.gpu = large.gpu();
    record.model = large.model();
    record.content = large.SerializeAsString();
    auto store = OpenEvidenceStore(location);
    ASSERT_TRUE(store.ok()) << store.status();
    ASSERT_TRUE((*store)->Add({record}).ok());
  }
  Start(location);
  ASSERT_TRUE(Report(ReportedRun("small")).ok());
  v1::ListMeasurementsRequest request;
  request.set_gpu("g");
  v1::ListMeasurementsResponse page;
  ASSERT_TRUE(List(request, &page).ok());
  ASSERT_EQ(page.measurements_size(), 2);
  EXPECT_EQ(page.measurements(0).id(), "large");
  EXPECT_EQ(page.measurements(0).value(), 1e6);
  EXPECT_FALSE(page.measurements(0).has_software());
  EXPECT_LT(Metric("flightplan_evidence_bytes"), 500);
}

TEST_F(EvidenceServiceTest, ListsPageByPage) {
  Start(Store());
  for (int i = 0; i < 5; ++i) {
    v1::Measurement m = ReportedRun(absl::StrCat("job-", i));
    if (i == 3) m.set_gpu("other");
    ASSERT_TRUE(Report(m).ok());
  }
  v1::ListMeasurementsRequest request;
  request.set_page_size(2);
  request.set_gpu("g");
  std::string ids;
  for (int pages = 1;; ++pages) {
    v1::ListMeasurementsResponse page;
    ASSERT_TRUE(List(request, &page).ok());
    EXPECT_EQ(page.revision(), 6);
    for (const auto& m : page.measurements()) absl::StrAppend(&ids, m.id(), " ");
    if (page.next_page_token().empty()) {
      EXPECT_EQ(pages, 2);
      break;
    }
    request.set_page_token(page.next_page_token());
  }
  EXPECT_EQ(ids, "job-0 job-1 job-2 job-4 ");

  v1::ListMeasurementsResponse page;
  v1::ListMeasurementsRequest later;
  later.set_after_revision(5);
  ASSERT_TRUE(List(later, &page).ok());
  ASSERT_EQ(page.measurements_size(), 1);
  EXPECT_EQ(page.measurements(0).id(), "job-4");
  later.set_after_revision(7);
  const grpc::Status behind = List(later, &page);
  EXPECT_EQ(behind.error_code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(ReasonOf(behind), "REVISION_BEHIND");
  request.set_page_token("");
  request.set_page_size(1001);  // means 1,000, as everywhere
  EXPECT_TRUE(List(request, &page).ok());
  request.set_page_size(-1);
  EXPECT_EQ(List(request, &page).error_code(), StatusCode::INVALID_ARGUMENT);
  request.set_page_size(1000);
  request.set_page_token("next");
  EXPECT_EQ(List(request, &page).error_code(), StatusCode::INVALID_ARGUMENT);
  request = {};
  request.set_gpu("h100-sx");
  const grpc::Status unknown = List(request, &page);
  EXPECT_EQ(unknown.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_TRUE(absl::StrContains(unknown.error_message(), "nearest known: h100")) << unknown.error_message();
}

TEST_F(EvidenceServiceTest, ListsByEveryNameOfAGpuAndAModel) {
  Start(Store());
  v1::Measurement m = ReportedRun("job-1");
  m.set_gpu("h100-sxm");
  m.set_model("qwen3-30b-a3b");
  ASSERT_TRUE(Report(m).ok());
  for (const char* gpu : {"", "h100-sxm", "h100"}) {
    for (const char* model : {"", "qwen3-30b-a3b", "Qwen/Qwen3-30B-A3B"}) {
      v1::ListMeasurementsRequest request;
      request.set_gpu(gpu);
      request.set_model(model);
      v1::ListMeasurementsResponse page;
      ASSERT_TRUE(List(request, &page).ok()) << gpu << " " << model;
      EXPECT_EQ(page.measurements_size(), 1) << gpu << " " << model;
    }
  }
}

TEST_F(EvidenceServiceTest, WithoutAStoreReportsAreRefusedForGood) {
  Start("off");
  const grpc::Status refused = Report(ReportedRun("job-1"));
  EXPECT_EQ(refused.error_code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(ReasonOf(refused), "STORE_OFF");
  EXPECT_FALSE(AsksToRetry(refused));
  v1::ListMeasurementsResponse page;
  EXPECT_TRUE(List(v1::ListMeasurementsRequest(), &page).ok());
  EXPECT_EQ(page.revision(), 1);
}

TEST_F(EvidenceServiceTest, AnswersCarryTheRevisionThatTheyRestOn) {
  Start(Store());
  const auto resolver = v1::ResolverService::NewStub(channel_);
  v1::ResolveConfigRequest request;
  request.mutable_model()->set_name("m");
  for (int64_t revision = 1; revision <= 3; ++revision) {
    for (int i = 0; i < 2; ++i) {  // made, then cached
      ClientContext context;
      v1::ResolveConfigResponse response;
      ASSERT_TRUE(resolver->ResolveConfig(&context, request, &response).ok());
      EXPECT_EQ(response.evidence_revision(), revision);
      ClientContext judging;
      v1::ValidateConfigRequest launch;
      launch.mutable_arguments()->add_values("--num-layers");
      v1::ValidateConfigResponse judged;
      ASSERT_TRUE(resolver->ValidateConfig(&judging, launch, &judged).ok());
      const auto& trailing = judging.GetServerTrailingMetadata();
      const auto told = trailing.find("x-flightplan-evidence-revision");
      ASSERT_NE(told, trailing.end());
      EXPECT_EQ(std::string(told->second.data(), told->second.size()), absl::StrCat(revision));
    }
    ASSERT_TRUE(Report(ReportedRun(absl::StrCat("job-", revision))).ok());
  }
}

// Reports that wait for a store that another process holds.
TEST_F(EvidenceServiceTest, AStuckStoreTakesNoPlacesOfOtherCalls) {
  constexpr int kPlaces = 4, kReports = 3 * kPlaces;
  max_in_flight_ = kPlaces;
  Start(Store());
  ASSERT_TRUE(Report(ReportedRun("first")).ok());
  sqlite3* holder = nullptr;
  ASSERT_EQ(sqlite3_open(folder_.File("evidence.db").c_str(), &holder), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(holder, "BEGIN EXCLUSIVE", nullptr, nullptr, nullptr), SQLITE_OK);
  std::vector<std::thread> reporters;
  reporters.reserve(kReports);
  for (int i = 0; i < kReports; ++i) {
    reporters.emplace_back([this, i] { (void)Report(ReportedRun(absl::StrCat("job-", i))); });
  }
  const std::string started =
      "grpc_server_started_total{grpc_method=\"ReportMeasurement\","
      "grpc_service=\"flightplan.v1.EvidenceService\",grpc_type=\"unary\"}";
  while (Metric(started) < kReports + 1) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const auto resolver = v1::ResolverService::NewStub(channel_);
  ClientContext context;
  v1::ResolveConfigRequest request;
  request.mutable_model()->set_name("m");
  v1::ResolveConfigResponse response;
  const grpc::Status answered = resolver->ResolveConfig(&context, request, &response);
  EXPECT_TRUE(answered.ok()) << answered.error_message();
  ASSERT_EQ(sqlite3_exec(holder, "ROLLBACK", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(holder);
  for (std::thread& reporter : reporters) reporter.join();
}

// The same at the port for browsers, where a report keeps its place until it is kept.
TEST_F(EvidenceServiceTest, AStuckStoreTakesHalfOfThePlacesOfBrowsersAtMost) {
  constexpr int kReports = 6, kKept = 2;  // of 8 places browsers have 4, reports 2 of them
  max_in_flight_ = 8;
  web_ = true;
  Start(Store());
  ASSERT_TRUE(Report(ReportedRun("first")).ok());
  sqlite3* holder = nullptr;
  ASSERT_EQ(sqlite3_open(folder_.File("evidence.db").c_str(), &holder), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(holder, "BEGIN EXCLUSIVE", nullptr, nullptr, nullptr), SQLITE_OK);
  std::atomic<int> refused{0}, taken{0};
  std::vector<std::thread> reporters;
  reporters.reserve(kReports);
  for (int i = 0; i < kReports; ++i) {
    reporters.emplace_back([&, i] {
      v1::ReportMeasurementRequest request;
      *request.mutable_measurement() = ReportedRun(absl::StrCat("job-", i));
      std::string json;
      ASSERT_TRUE(google::protobuf::util::MessageToJsonString(request, &json).ok());
      const int status = WebCall(server_->web_port(), JsonCall("EvidenceService/ReportMeasurement", json)).status;
      ++(status == 429 ? refused : taken);
    });
  }
  // Each has been turned away, or waits for the store.
  while (Metric(kReportsReceived) - 1 + refused < kReports) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  for (int i = 0; i < 3; ++i) {
    const WebAnswer answer =
        WebCall(server_->web_port(), JsonCall("ResolverService/ResolveConfig", R"({"model": {"name": "m"}})"));
    EXPECT_EQ(answer.status, 200) << answer.body;
  }
  ASSERT_EQ(sqlite3_exec(holder, "ROLLBACK", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(holder);
  for (std::thread& reporter : reporters) reporter.join();
  EXPECT_EQ(taken, kKept);
}

TEST_F(EvidenceServiceTest, TheStoreGoesAwayAndComesBack) {
  const std::string url = TestPostgres::NewDatabase();
  if (url.empty()) GTEST_SKIP() << "skipped: no PostgreSQL server is installed";
  Start(url);
  ASSERT_TRUE(Report(ReportedRun("job-1")).ok());
  EXPECT_EQ(Metric("flightplan_evidence_store_up"), 1);
  TestPostgres::Do("stop");
  grpc::Status refused = Report(ReportedRun("job-2"));
  while (refused.ok()) refused = Report(ReportedRun("job-2"));
  EXPECT_EQ(refused.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(ReasonOf(refused), "STORE_DOWN");
  EXPECT_TRUE(AsksToRetry(refused));
  EXPECT_EQ(Metric("flightplan_evidence_store_up"), 0);
  v1::ListMeasurementsResponse page;
  ASSERT_TRUE(List(v1::ListMeasurementsRequest(), &page).ok()) << "reads come from the snapshot";
  EXPECT_EQ(page.measurements_size(), 1);
  const auto resolver = v1::ResolverService::NewStub(channel_);
  {
    ClientContext context;
    v1::ResolveConfigRequest request;
    v1::ResolveConfigResponse response;
    ASSERT_TRUE(resolver->ResolveConfig(&context, request, &response).ok());
    const auto& trailing = context.GetServerTrailingMetadata();
    const auto state = trailing.find("x-flightplan-evidence-state");
    ASSERT_NE(state, trailing.end());
    EXPECT_EQ(std::string(state->second.data(), state->second.size()), "stale");
  }
  TestPostgres::Do("start");
  while (!Report(ReportedRun("job-2")).ok()) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(Metric("flightplan_evidence_store_up"), 1);
}

}  // namespace
}  // namespace flightplan::service
