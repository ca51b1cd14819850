#include "service/web/connect_metadata.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace flightplan::service {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(ConnectMetadata, WhatBelongsToOthersStaysBehind) {
  const auto metadata = MetadataOf({{"Host", "h"},
                                    {"Content-Type", "application/json"},
                                    {"Connect-Timeout-Ms", "1"},
                                    {"grpc-timeout", "1S"},
                                    {"flightplan-client-certificate-bin", "AAAA"},
                                    {"Cookie", "a=b"},
                                    {"Sec-Fetch-Site", "same-origin"},
                                    {"Authorization", "Bearer x"},
                                    {"X-Request-Id", "7"}});
  ASSERT_TRUE(metadata.ok()) << metadata.status();
  EXPECT_THAT(*metadata, ElementsAre(Pair("authorization", "Bearer x"), Pair("x-request-id", "7")));
}

TEST(ConnectMetadata, BinaryValuesAreBytesInside) {
  const auto metadata = MetadataOf({{"A-Bin", "AAEC, /w=="}});
  ASSERT_TRUE(metadata.ok()) << metadata.status();
  EXPECT_THAT(*metadata, ElementsAre(Pair("a-bin", std::string("\0\1\2", 3)), Pair("a-bin", "\xff")));
  EXPECT_EQ(ToBase64("\xff"), "/w");
}

TEST(ConnectMetadata, WhatMetadataCannotCarryIsNamed) {
  // gRPC ends the process for such a name or value.
  for (const HttpHeader& bad :
       {HttpHeader{"x-a", "\xc3\xa4"}, HttpHeader{"x-a", "a\tb"}, HttpHeader{"x+a", "b"}, HttpHeader{"x-a-bin", "*"}}) {
    const auto metadata = MetadataOf({bad});
    EXPECT_EQ(metadata.status().code(), absl::StatusCode::kInvalidArgument) << bad.name;
    EXPECT_THAT(std::string(metadata.status().message()), HasSubstr(bad.name));
  }
}

TEST(ConnectMetadata, OfWhatAServerSaidGrpcsOwnIsNotShown) {
  const std::multimap<grpc::string_ref, grpc::string_ref> said = {
      {"grpc-status-details-bin", "x"}, {"a-bin", "\xff"}, {"b", "c"}};
  EXPECT_THAT(ShownMetadata(said), ElementsAre(Pair("a-bin", "/w"), Pair("b", "c")));
  EXPECT_THAT(ShownMetadata({}), IsEmpty());
}

}  // namespace
}  // namespace flightplan::service
