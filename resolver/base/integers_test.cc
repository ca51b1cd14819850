#include "resolver/base/integers.h"

#include <climits>

#include "gtest/gtest.h"

namespace flightplan {
namespace {

TEST(Arithmetic, DividesLikePython) {
  EXPECT_TRUE(Divisible(8, 4));
  EXPECT_FALSE(Divisible(8, 3));
  EXPECT_FALSE(Divisible(8, 0));
  EXPECT_TRUE(Divisible(8, -4));
  EXPECT_EQ(FloorDiv(-7, 2), -4);
  EXPECT_EQ(FloorMod(-7, 2), 1);
  EXPECT_EQ(FloorDiv(7, -2), -4);
  EXPECT_EQ(FloorMod(7, -2), -1);
  EXPECT_EQ(FloorDiv(7, 0), 0);
  EXPECT_EQ(FloorDiv(INT64_MIN, -1), INT64_MAX);
  EXPECT_EQ(FloorMod(INT64_MIN, -1), 0);
}

TEST(Arithmetic, ProductNoticesOverflow) {
  EXPECT_EQ(Product({2, 3, 7}), 42);
  EXPECT_EQ(Product({1'000'000'000'000, 1'000'000'000}), std::nullopt);
}

TEST(InDigits, NamesWhatAShorthandStandsFor) {
  EXPECT_EQ(InDigits("128k"), "131072");
  EXPECT_EQ(InDigits("4K"), "4096");
  EXPECT_EQ(InDigits("1M"), "1048576");
  EXPECT_EQ(InDigits("10k"), "10240 or 10000");  // either is common
  EXPECT_EQ(InDigits("8,192"), "8192");
  EXPECT_EQ(InDigits("8_192"), "8192");
  for (const char* other : {"", "k", "many", "4096", "-4k", "0k", "1.5k", "4kk", "9999999999999999k", "16m8"}) {
    EXPECT_EQ(InDigits(other), "") << other;
  }
}

TEST(Arithmetic, NextMultipleIsPositiveAndFits) {
  EXPECT_EQ(NextMultiple(8, 4), 8);
  EXPECT_EQ(NextMultiple(9, 4), 12);
  EXPECT_EQ(NextMultiple(0, 4), 4);
  EXPECT_EQ(NextMultiple(INT64_MIN, 4), 4);
  EXPECT_EQ(NextMultiple(INT64_MAX, 1), INT64_MAX);
  EXPECT_EQ(NextMultiple(INT64_MAX, 4), std::nullopt);
  EXPECT_EQ(NextMultiple(8, 0), std::nullopt);
}

TEST(Arithmetic, NextSmallerFitFindsADivisor) {
  EXPECT_EQ(NextSmallerFit(8, 1, 3), 2);
  EXPECT_EQ(NextSmallerFit(8, 8, 3), 1);
  EXPECT_EQ(NextSmallerFit(8, 3, 3), std::nullopt);
  EXPECT_EQ(NextSmallerFit(8, 1, 1), std::nullopt);
}

}  // namespace
}  // namespace flightplan
