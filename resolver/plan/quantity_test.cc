#include "resolver/plan/quantity.h"

#include <gtest/gtest.h>

namespace flightplan {
namespace {

TEST(Quantity, IsSaidWithoutAnotherValue) {
  EXPECT_EQ(OutsideOf(kHostMemoryBytes, 0), "must be 1048576..1e+15 bytes of one node, not 0");
  EXPECT_EQ(OutsideOf(kHostMemoryBytes, 1048575), "must be 1048576..1e+15 bytes of one node, not 1048575");
  EXPECT_EQ(OutsideOf(kBytesPerSecond, 1e-300), "must be 1e+06..1e+15 bytes per second, not 1e-300");
}

}  // namespace
}  // namespace flightplan
