#include "probe/method/window.h"

#include <gtest/gtest.h>

namespace flightplan::probe {
namespace {

TEST(OperationsPerWindow, FillsTheWindowInWholeTurns) {
  EXPECT_EQ(OperationsPerWindow(10, 1), 20);
  EXPECT_EQ(OperationsPerWindow(10, 3), 21);
  EXPECT_EQ(OperationsPerWindow(1000, 4), 4) << "every set is used even by one long operation";
  EXPECT_EQ(OperationsPerWindow(0, 1), kMostOperations);
}

TEST(BufferSets, TurnFourTimesTheCache) {
  constexpr int64_t kMiB = 1 << 20;
  EXPECT_EQ(BufferSets(50 * kMiB, 50 * kMiB, 2048 * kMiB), 4);
  EXPECT_EQ(BufferSets(512 * kMiB, 50 * kMiB, 2048 * kMiB), 1);
  EXPECT_EQ(BufferSets(50 * kMiB, 50 * kMiB, 120 * kMiB), 2) << "no more than fit";
  EXPECT_EQ(BufferSets(50 * kMiB, 50 * kMiB, 49 * kMiB), 0);
  EXPECT_EQ(BufferSets(1024, 50 * kMiB, 2048 * kMiB), 32);
}

TEST(DeviceBytesCap, QuarterOfWhatIsFreeOrTwoGibibytes) {
  EXPECT_EQ(DeviceBytesCap(int64_t{4} << 30), int64_t{1} << 30);
  EXPECT_EQ(DeviceBytesCap(int64_t{140} << 30), int64_t{2} << 30);
  EXPECT_EQ(DeviceBytesCap(0), 0);
}

}  // namespace
}  // namespace flightplan::probe
