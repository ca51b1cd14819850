#include <atomic>
#include <chrono>
#include <set>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "resolver/base/reason.h"
#include "service/call/idle_streams.h"
#include "service/handlers/batch_resolve.h"
#include "service/testing/server_fixture.h"

namespace flightplan::service {
namespace {

using grpc::ClientContext;
using grpc::StatusCode;

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

TEST_F(ServerTest, AStreamThatSendsNothingGivesItsPlaceToACall) {
  settings_.max_in_flight = 2;
  StartServer();
  ClientContext idle_context, busy_context;
  auto idle = resolver_->BatchResolve(&idle_context);
  auto busy = resolver_->BatchResolve(&busy_context);
  v1::BatchResolveRequest item;
  v1::BatchResolveResponse response;
  *item.mutable_resolve() = RequestNamed("m");
  ASSERT_TRUE(idle->Write(item) && idle->Read(&response));
  ASSERT_TRUE(busy->Write(item) && busy->Read(&response));
  ExpectMetricBecomes("flightplan_in_flight_requests", 2);
  EXPECT_EQ(Resolve(RequestNamed("at once")).error_code(), StatusCode::RESOURCE_EXHAUSTED);
  std::this_thread::sleep_for(absl::ToChronoMilliseconds(1.5 * IdleStreams::kPatience));
  ASSERT_TRUE(busy->Write(item) && busy->Read(&response));
  EXPECT_TRUE(Resolve(RequestNamed("later")).ok());
  EXPECT_FALSE(idle->Read(&response));
  EXPECT_EQ(idle->Finish().error_code(), StatusCode::RESOURCE_EXHAUSTED);
  ASSERT_TRUE(busy->Write(item) && busy->Read(&response));
  busy->WritesDone();
  EXPECT_FALSE(busy->Read(&response));
  EXPECT_TRUE(busy->Finish().ok());
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

}  // namespace
}  // namespace flightplan::service
