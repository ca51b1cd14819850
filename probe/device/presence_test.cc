#include "probe/device/presence.h"

#include <gtest/gtest.h>

namespace flightplan::probe {
namespace {

TEST(DriverFits, EveryDriverOfTheMajorVersionAndLaterOnes) {
  EXPECT_TRUE(DriverFits(13000, 13000).ok());
  EXPECT_TRUE(DriverFits(13000, 13010).ok()) << "minor versions are compatible";
  EXPECT_TRUE(DriverFits(14000, 13000).ok());
  EXPECT_TRUE(DriverFits(12080, 0).ok()) << "no runtime, nothing to fit";
  const Status old = DriverFits(12040, 13000);
  EXPECT_EQ(old.code, Code::kUnsupported);
  EXPECT_EQ(
      old.message,
      "the driver supports CUDA 12.4 and this flightplan-probe needs 13.0: install driver R580 or newer, or build "
      "the probe with the CUDA toolkit of that driver");
}

TEST(DescribeUse, AnIdleDeviceIsFree) {
  EXPECT_EQ(DescribeUse({}), "");
  EXPECT_EQ(DescribeUse({.processes = 0, .busy_percent = 2, .used_bytes = 600 << 20}), "");
}

TEST(DescribeUse, WhatAContainerCannotSeeShowsInUseAndMemory) {
  EXPECT_EQ(DescribeUse({.processes = 1, .busy_percent = 99, .used_bytes = {}}), "is used by 1 other process");
  EXPECT_EQ(DescribeUse({.processes = 0, .busy_percent = 97, .used_bytes = {}}),
            "is 97 % busy, by a process that cannot be seen from here");
  EXPECT_EQ(DescribeUse({.processes = {}, .busy_percent = 0, .used_bytes = int64_t{60000} << 20}),
            "has 60000 MiB of its memory held by a process that cannot be seen from here");
}

}  // namespace
}  // namespace flightplan::probe
