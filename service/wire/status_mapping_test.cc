#include "service/wire/status_mapping.h"

#include "absl/strings/cord.h"
#include "google/rpc/error_details.pb.h"
#include "gtest/gtest.h"
#include "resolver/base/reason.h"
#include "resolver/normalize/violations.h"
#include "resolver/resolver.h"

namespace flightplan::service {
namespace {

google::rpc::ErrorInfo InfoOf(const google::rpc::Status& status) {
  google::rpc::ErrorInfo info;
  EXPECT_GE(status.details_size(), 1);
  EXPECT_TRUE(status.details(0).UnpackTo(&info));
  return info;
}

TEST(StatusMapping, OkStaysOk) {
  EXPECT_TRUE(ToGrpcStatus(absl::OkStatus(), "id").ok());
  EXPECT_EQ(ToRpcStatus(absl::OkStatus(), "id").ByteSizeLong(), 0u);
}

TEST(StatusMapping, RetryDelaysSurvive) {
  const absl::Status status = WithRetry(absl::ResourceExhaustedError("x"), absl::Milliseconds(1250));
  EXPECT_EQ(RetryDelay(status), absl::Milliseconds(1250));
  EXPECT_EQ(RetryDelay(absl::ResourceExhaustedError("x")), absl::ZeroDuration());
  google::rpc::RetryInfo info;
  ASSERT_TRUE(ToRpcStatus(status, "").details(1).UnpackTo(&info));
  EXPECT_EQ(info.retry_delay().seconds(), 1);
  EXPECT_EQ(info.retry_delay().nanos(), 250'000'000);
}

TEST(StatusMapping, PayloadsThatAreNoDetailsStayInside) {
  absl::Status status = absl::InvalidArgumentError("x");
  status.SetPayload("flightplan/secret", absl::Cord("do not send"));
  status.SetPayload(kBadRequestPayload, absl::Cord(google::rpc::BadRequest().SerializeAsString()));
  const google::rpc::Status wire = ToRpcStatus(status, "id");
  EXPECT_EQ(wire.details_size(), 2);
  EXPECT_EQ(wire.SerializeAsString().find("do not send"), std::string::npos);
}

TEST(StatusMapping, OwnFaultsCarryNoReasonOfTheirOwn) {
  EXPECT_EQ(InfoOf(ToRpcStatus(WithReason(absl::InternalError("x"), "LEAKED"), "id")).reason(), "INTERNAL");
}

TEST(StatusMapping, LongMessagesAreCutBetweenCharacters) {
  std::string text;
  while (text.size() < 3000) text += "\xc3\xa9";  // two bytes each
  const grpc::Status status = ToGrpcStatus(absl::InvalidArgumentError(text), "id");
  EXPECT_LE(status.error_message().size(), kMaxMessageBytes);
  const std::string kept = status.error_message().substr(0, status.error_message().size() - 3);
  EXPECT_EQ(kept.size() % 2, 0u);
  EXPECT_EQ(status.error_message().substr(kept.size()), "...");
}

TEST(StatusMapping, SmallDetailsAreSentWhole) {
  google::rpc::BadRequest details;
  for (int i = 0; i < 10; ++i) details.add_field_violations()->set_field("f");
  absl::Status status = absl::InvalidArgumentError("x");
  status.SetPayload(kBadRequestPayload, absl::Cord(details.SerializeAsString()));
  google::rpc::Status wire;
  ASSERT_TRUE(wire.ParseFromString(ToGrpcStatus(status, "id").error_details()));
  google::rpc::BadRequest sent;
  ASSERT_TRUE(wire.details(1).UnpackTo(&sent));
  EXPECT_EQ(sent.field_violations_size(), 10);
  EXPECT_EQ(InfoOf(wire).metadata().count("violations_left_out"), 0u);
}

TEST(StatusMapping, OneEnormousViolationIsClippedRatherThanLost) {
  google::rpc::BadRequest details;
  auto* violation = details.add_field_violations();
  violation->set_field(std::string(100'000, 'f'));
  violation->set_description(std::string(100'000, 'd'));
  absl::Status status = absl::InvalidArgumentError("x");
  status.SetPayload(kBadRequestPayload, absl::Cord(details.SerializeAsString()));
  const grpc::Status wire = ToGrpcStatus(status, "id");
  EXPECT_LE(wire.error_details().size(), kMaxDetailBytes);
}

}  // namespace
}  // namespace flightplan::service
