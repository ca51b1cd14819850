#include <atomic>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "resolver/normalize/violations.h"
#include "service/call/answer_source.h"
#include "service/testing/server_fixture.h"
#include "service/wire/status_mapping.h"

namespace flightplan::service {
namespace {

using grpc::ClientContext;
using grpc::StatusCode;

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

TEST_F(ServerTest, SurvivesRandomBytesOnEveryMethod) {
  std::mt19937 random(20261120);
  ASSERT_EQ(AllMethods().size(), 22u);
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

}  // namespace
}  // namespace flightplan::service
