#include "resolver/stacks/roll/devices.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace flightplan {
namespace {

using Devices = std::vector<int64_t>;

TEST(RollDevices, ReadsListsRangesAndTheirSums) {
  EXPECT_EQ(RollDevices("list(range(0,4))"), Devices({0, 1, 2, 3}));
  EXPECT_EQ(RollDevices(" list( range(2) ) "), Devices({0, 1}));
  EXPECT_EQ(RollDevices("list(range(0, 8, 4))"), Devices({0, 4}));
  EXPECT_EQ(RollDevices("[0, 1]"), Devices({0, 1}));
  EXPECT_EQ(RollDevices("list([6,7,14])"), Devices({6, 7, 14}));
  EXPECT_EQ(RollDevices("list(range(0,2)) + [8]"), Devices({0, 1, 8}));
  EXPECT_EQ(RollDevices("list(range(4,4))"), Devices());
}

TEST(RollDevices, GivesUpOnWhatItDoesNotKnow) {
  for (const char* text : {"", "list(range(0,8)", "range(0,8) - 1", "list(range(1,2,0))", "[x]", "list(range(0,1,2,3))",
                           "[i for i in range(8)]", "list(range(-1,2))", "list(range(0,9999999999999999999))"}) {
    EXPECT_EQ(RollDevices(text), std::nullopt) << text;
  }
}

TEST(RollDevices, IsBounded) {
  EXPECT_EQ(RollDevices("list(range(0,4294967296))"), std::nullopt);
  EXPECT_EQ(RollDevices("list(range(0,65536)) + [1]"), std::nullopt);
  EXPECT_EQ(RollDevices("list(range(1,-9223372036854775808))"), std::nullopt);
  EXPECT_EQ(RollDevices("list(range(0,2,9223372036854775807))"), std::nullopt);
  std::string many = "[0";
  for (int i = 0; i < 70000; ++i) many += ",1";
  EXPECT_EQ(RollDevices(many + "]"), std::nullopt);
}

}  // namespace
}  // namespace flightplan
