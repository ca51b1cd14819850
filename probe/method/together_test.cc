#include "probe/method/together.h"

#include <gtest/gtest.h>

#include <cmath>

namespace flightplan::probe {
namespace {

TEST(Together, WorkThatDoesNotDisturbEachOtherIsNotSlowed) {
  const Together t = {.compute_alone = 100, .other_alone = 150, .compute = 100, .other = 150, .lead = 10};
  EXPECT_DOUBLE_EQ(t.ComputeSlowdown(), 1);
  EXPECT_DOUBLE_EQ(t.OtherSlowdown(), 1);
}

// The exchange runs 20 alone, then both for 120: compute does all of its 100, the exchange 80 of its 100.
TEST(Together, OnlyTheOverlapCounts) {
  const Together t = {.compute_alone = 100, .other_alone = 100, .compute = 120, .other = 140, .lead = 20};
  EXPECT_DOUBLE_EQ(t.ComputeSlowdown(), 1.2);
  EXPECT_DOUBLE_EQ(t.OtherSlowdown(), 1.5);
}

// Compute outlasts the exchange: of its 100, 30 were done alone after it.
TEST(Together, WhatIsLeftOverRunsAlone) {
  const Together t = {.compute_alone = 100, .other_alone = 80, .compute = 135, .other = 115, .lead = 10};
  EXPECT_DOUBLE_EQ(t.ComputeSlowdown(), 105.0 / 70);
  EXPECT_DOUBLE_EQ(t.OtherSlowdown(), 105.0 / 70);
}

TEST(Together, TheOtherMayBeginLater) {
  const Together t = {.compute_alone = 100, .other_alone = 100, .compute = 120, .other = 110, .lead = -40};
  EXPECT_DOUBLE_EQ(t.ComputeSlowdown(), 80.0 / 60);
  EXPECT_DOUBLE_EQ(t.OtherSlowdown(), 80.0 / 70);
}

TEST(Together, WhatNeverMetSaysNothing) {
  const Together t = {.compute_alone = 100, .other_alone = 100, .compute = 100, .other = 100, .lead = 200};
  EXPECT_TRUE(std::isnan(t.ComputeSlowdown()));
  EXPECT_TRUE(std::isnan(t.OtherSlowdown()));
}

}  // namespace
}  // namespace flightplan::probe
