#include "clients/cli/output.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "flightplan/v1/resolver_service.pb.h"

namespace flightplan::cli {
namespace {

TEST(Json, KeepsNamesZerosAndTheOrderOfMaps) {
  std::string first;
  for (int round = 0; round < 8; ++round) {  // protobuf shuffles the maps of each message anew
    v1::Launch launch;
    for (int i = 0; i < 40; ++i) (*launch.mutable_env())[absl::StrCat("V", (i * 7 + round) % 40)] = "x";
    v1::ResolveConfigResponse response;
    *response.add_launches() = launch;
    const std::string json = ToJson(response);
    if (round == 0) first = json;
    EXPECT_EQ(json, first);
  }
  EXPECT_NE(first.find("\"accepted_by_stack\": false"), std::string::npos) << first.substr(0, 200);
  EXPECT_EQ(first.back(), '\n');
}

}  // namespace
}  // namespace flightplan::cli
