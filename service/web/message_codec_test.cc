#include "service/web/message_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "flightplan/v1/resolver_service.pb.h"
#include "google/rpc/error_details.pb.h"
#include "resolver/normalize/violations.h"

namespace flightplan::service {
namespace {

using ::testing::HasSubstr;

class MessageCodecTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::string> Read(const std::string& json) const {
    return codec_.FromJson(*v1::ResolveConfigRequest::descriptor(), json);
  }
  // Of the one violation; "?": there is none.
  std::string FieldIn(const std::string& json) const {
    const auto payload = Read(json).status().GetPayload(kBadRequestPayload);
    google::rpc::BadRequest details;
    if (!payload.has_value() || !details.ParseFromString(std::string(*payload))) return "?";
    return details.field_violations_size() == 1 ? details.field_violations(0).field() : "?";
  }
  const MessageCodec codec_{google::protobuf::DescriptorPool::generated_pool()};
};

TEST_F(MessageCodecTest, ReadsAndWritesTheSameMessage) {
  v1::ResolveConfigRequest request;
  request.mutable_model()->set_name("deepseek-v3");
  request.mutable_target()->set_framework("megatron-lm");
  const auto json = codec_.ToJson(*request.GetDescriptor(), request.SerializeAsString());
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_EQ(*json, R"({"model":{"name":"deepseek-v3"},"target":{"framework":"megatron-lm"}})");
  const auto bytes = Read(*json);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_EQ(*bytes, request.SerializeAsString());
}

TEST_F(MessageCodecTest, AFieldThatIsNotKnownOrOfAnotherTypeIsNamed) {
  EXPECT_EQ(FieldIn(R"({"modell":{}})"), "modell");
  EXPECT_EQ(FieldIn(R"({"model":{"nam":"x"}})"), "model.nam");
  EXPECT_EQ(FieldIn(R"({"hardware":{"gpuCount":"many"}})"), "hardware.gpu_count");
}

TEST_F(MessageCodecTest, WhatIsNoJsonOrTooDeepIsRefused) {
  for (const std::string& bad :
       {std::string(), std::string("{"), std::string("[]"), std::string("{\"model\":}"), std::string("\xff\xfe"),
        std::string(100'000, '['), R"({"model":{"name":"a"}} {})" + std::string()}) {
    EXPECT_EQ(Read(bad).status().code(), absl::StatusCode::kInvalidArgument) << bad.substr(0, 20);
  }
}

}  // namespace
}  // namespace flightplan::service
