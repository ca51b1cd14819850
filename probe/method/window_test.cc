#include "probe/method/window.h"

#include <gtest/gtest.h>

#include "probe/method/rounds.h"

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

TEST(WholeRounds, GivesEveryBlockAsManyTiles) {
  constexpr int64_t kTile = 128 << 10, kMiB = 1 << 20;
  for (const int blocks : {1, 20, 24, 96, 132, 148}) {
    const int64_t bytes = WholeRounds(64 * kMiB, kTile, blocks);
    EXPECT_EQ(bytes / kTile % blocks, 0) << blocks;
    EXPECT_LE(bytes, 64 * kMiB + kTile * blocks / 2) << blocks;
    EXPECT_GE(bytes, 64 * kMiB - kTile * blocks / 2) << blocks;
  }
  EXPECT_EQ(WholeRounds(64 * kMiB, kTile, 96), 480 * kTile);  // 512 tiles were five rounds and a third, paid as six
  EXPECT_EQ(WholeRounds(1, kTile, 4), 4 * kTile);             // one round at least
}

TEST(DeviceBytesCap, QuarterOfWhatIsFreeOrWhatIsAllowed) {
  EXPECT_EQ(DeviceBytesCap(int64_t{4} << 30, int64_t{2} << 30), int64_t{1} << 30);
  EXPECT_EQ(DeviceBytesCap(int64_t{140} << 30, int64_t{2} << 30), int64_t{2} << 30);
  EXPECT_EQ(DeviceBytesCap(int64_t{140} << 30, int64_t{8} << 30), int64_t{8} << 30);
  EXPECT_EQ(DeviceBytesCap(0, int64_t{2} << 30), 0);
}

TEST(BufferBytes, TheContextCountsAsHeld) {
  constexpr int64_t kGiB = 1 << 30, kMiB = 1 << 20;
  EXPECT_EQ(BufferBytes(80 * kGiB, 0, 160 * kMiB, 2 * kGiB), 2 * kGiB - 192 * kMiB);
  EXPECT_EQ(BufferBytes(80 * kGiB, 600 * kMiB, 160 * kMiB, 2 * kGiB), 2 * kGiB - 792 * kMiB);
  EXPECT_EQ(BufferBytes(3 * kGiB, kGiB, 0, 2 * kGiB), 0) << "a quarter of four, which the context has";
}

}  // namespace
}  // namespace flightplan::probe
