#include "probe/protocol.h"

#include <gtest/gtest.h>

#include "probe/json.h"

namespace flightplan::probe {
namespace {

Row SomeRow() {
  Row row;
  row.spec = {
      .id = "hbm.copy", .parameters = {{"bytes", 268435456}}, .labels = {{"op", "copy"}}, .unit = "bytes_per_second"};
  row.value = 4.1e12, row.low = 4.0e12, row.high = 4.2e12;
  row.sample_count = 11;
  row.checked = true;
  return row;
}

TEST(Protocol, EveryLineIsOneObjectWithOneMember) {
  Profile profile;
  profile.device = {.name = "A \"GPU\"\n", .uuid = "GPU-1", .driver_version = "1.2", .sm_count = 132};
  profile.rows = {SomeRow(), SomeRow()};
  profile.notes = {"a", "b"};
  profile.conditions.throttle_reasons = {"sw_power_cap"};
  const std::pair<const char*, std::string> kLines[] = {
      {"device", DeviceLine(profile.device, "13.0")},
      {"progress", ProgressLine(0.5, "hbm.copy")},
      {"row", RowLine(SomeRow())},
      {"profile", ProfileLine(profile)},
      {"error", ErrorLine(Fail(Code::kBusy, "x"))},
  };
  for (const auto& [kind, line] : kLines) {
    EXPECT_EQ(line.find('\n'), std::string::npos) << line;
    std::string error;
    const auto json = ParseJson(line, &error);
    ASSERT_TRUE(json.has_value()) << error << ": " << line;
    ASSERT_EQ(json->members.size(), 1u);
    EXPECT_EQ(json->members[0].name, kind);
  }
}

TEST(Protocol, ProfileCarriesTheRowsWhole) {
  Profile profile;
  profile.rows = {SomeRow()};
  std::string error;
  const auto json = ParseJson(ProfileLine(profile), &error);
  ASSERT_TRUE(json.has_value()) << error;
  const Json* rows = json->Find("profile")->Find("rows");
  ASSERT_EQ(rows->list.size(), 1u);
  const Json& row = rows->list[0];
  EXPECT_EQ(row.TextOr("id", ""), "hbm.copy");
  EXPECT_EQ(row.NumberOr("value", 0), 4.1e12);
  EXPECT_EQ(row.Find("parameters")->NumberOr("bytes", 0), 268435456);
  EXPECT_EQ(row.Find("labels")->TextOr("op", ""), "copy");
  EXPECT_TRUE(row.Find("checked")->truth);
}

}  // namespace
}  // namespace flightplan::probe
