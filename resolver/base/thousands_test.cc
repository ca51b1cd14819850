#include "resolver/base/thousands.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace flightplan {
namespace {

TEST(WithThousands, GroupsDigitsFromTheRight) {
  EXPECT_EQ(WithThousands(0), "0");
  EXPECT_EQ(WithThousands(999), "999");
  EXPECT_EQ(WithThousands(1024), "1,024");
  EXPECT_EQ(WithThousands(6474700320), "6,474,700,320");
  EXPECT_EQ(WithThousands(-100), "-100");
  EXPECT_EQ(WithThousands(INT64_MIN), "-9,223,372,036,854,775,808");
}

}  // namespace
}  // namespace flightplan
