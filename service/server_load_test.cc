#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "resolver/base/reason.h"
#include "resolver/base/work.h"
#include "resolver/layouts/open_layout.h"
#include "service/call/wait_gate.h"
#include "service/testing/server_fixture.h"

namespace flightplan::service {
namespace {

using grpc::ClientContext;
using grpc::StatusCode;

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
  EXPECT_TRUE(absl::StrContains(status.error_message(), "after 20ms, with one after up to 20ms"))
      << status.error_message();
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
  threads.reserve(static_cast<size_t>(workers));
  for (int i = 0; i < workers; ++i) {
    threads.emplace_back([this, i] { EXPECT_TRUE(Resolve(RequestNamed(absl::StrCat("m", i))).ok()); });
  }
  while (control_->waiting < workers) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const int waiting = workers * static_cast<int>(WaitLimits().kept);
  for (int i = 0; i < waiting; ++i) {
    threads.emplace_back([this, i] { EXPECT_TRUE(Resolve(RequestNamed(absl::StrCat("waits", i))).ok()); });
  }
  ExpectMetricBecomes("flightplan_in_flight_requests", workers + waiting);
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
  EXPECT_EQ(control_->calls, workers + waiting) << "what is refused is not worked on";
  EXPECT_EQ(Metric("flightplan_shed_total{reason=\"queue\"}"), 1);
  EXPECT_EQ(Metric("flightplan_stage_seconds_count{stage=\"queue\"}"), workers + waiting);
}

// An open layout is found out on an answer's thread, and searched on another.
TEST_F(ServerTest, SearchesKeepNobodyFromAnAnswer) {
  settings_.cache_bytes = 0;
  StartServer();
  std::promise<void> go_on;
  const std::shared_future<void> found = go_on.get_future().share();
  std::atomic<int> searching{0};
  control_->status = [&searching, found](const v1::ResolveConfigRequest& request) {
    if (request.model().name() != "open") return absl::OkStatus();
    if (!Work::Affords(kOpenLayoutWork)) {
      return WithReason(absl::ResourceExhaustedError("a layout that is left open is searched"), kSearchNeeded);
    }
    ++searching;
    found.wait();
    return absl::OkStatus();
  };
  std::vector<std::thread> threads;
  std::atomic<int> answered{0}, refused{0};
  threads.reserve(20);
  for (int i = 0; i < 20; ++i) {
    threads.emplace_back([&] {
      const grpc::Status status = Resolve(RequestNamed("open"));
      (status.ok() ? answered : refused)++;
      EXPECT_TRUE(status.ok() || status.error_code() == StatusCode::RESOURCE_EXHAUSTED) << status.error_message();
      EXPECT_NE(ReasonIn(Details(status)), "SEARCH_NEEDED") << "that is between us";
    });
  }
  while (searching == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(Resolve(RequestNamed(absl::StrCat("m", i))).ok());
  go_on.set_value();
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(answered, 1);
  EXPECT_GE(refused, 1) << "few wait for a search, the others are told to come back";
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

}  // namespace
}  // namespace flightplan::service
