#include "probe/method/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>

namespace flightplan::probe {
namespace {

TEST(Median, OfNothingIsNothing) {
  EXPECT_EQ(Median({}).count, 0);
  EXPECT_EQ(Median({std::nan(""), std::numeric_limits<double>::infinity()}).count, 0);
}

TEST(Median, TakesTheTabledOrderStatistics) {
  // Ranks, from 1, of the 95 % interval in tables of the sign test.
  for (const auto& [n, low, high] :
       {std::array{6, 1, 6}, {8, 1, 8}, {9, 2, 8}, {11, 2, 10}, {15, 4, 12}, {20, 6, 15}, {25, 8, 18}}) {
    std::vector<double> samples;
    for (int i = n; i >= 1; --i) samples.push_back(i);
    const MedianOf median = Median(samples);
    EXPECT_EQ(median.low, low) << n;
    EXPECT_EQ(median.high, high) << n;
    EXPECT_EQ(median.value, (n + 1) / 2.0) << n;
    EXPECT_GE(median.coverage, 0.95) << n;
  }
}

TEST(Median, FewSamplesGiveTheirExtremes) {
  const MedianOf median = Median({3, 1, 2});
  EXPECT_EQ(median.low, 1);
  EXPECT_EQ(median.value, 2);
  EXPECT_EQ(median.high, 3);
  EXPECT_LT(median.coverage, 0.95);
}

TEST(Median, IntervalCoversTheTrueMedian) {
  std::mt19937 random(1);
  std::lognormal_distribution<double> skewed(0, 1);  // median 1
  int covered = 0;
  constexpr int kTrials = 4000;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> samples(11);
    std::generate(samples.begin(), samples.end(), [&] { return skewed(random); });
    const MedianOf median = Median(samples);
    covered += median.low <= 1 && 1 <= median.high;
  }
  EXPECT_GE(covered, 0.95 * kTrials);
}

TEST(MakeRow, TurnsTimesIntoRates) {
  const RowSpec spec{.id = "hbm.copy", .unit = "bytes_per_second", .work = 2e6};
  const Row row = MakeRow(spec, {1, 2, 4}, true);
  EXPECT_DOUBLE_EQ(row.value, 1e12);
  EXPECT_DOUBLE_EQ(row.low, 0.5e12);
  EXPECT_DOUBLE_EQ(row.high, 2e12);
  EXPECT_TRUE(row.checked);
}

TEST(MakeRow, GivesNoRowForTimesThatCannotBe) {
  const RowSpec rate{.id = "hbm.copy", .unit = "bytes_per_second", .work = 2e6};
  EXPECT_EQ(MakeRow(rate, {1, 0, 2}, false).sample_count, 0);
  EXPECT_EQ(MakeRow({.id = "timing.null", .unit = "us"}, {1, -1, 2}, false).sample_count, 0);
  EXPECT_EQ(MakeRow({.id = "timing.null", .unit = "us"}, {1, 0, 2}, false).sample_count, 3);
}

TEST(Disturbed, HeatAndOthersButNotThePowerCap) {
  const DeviceState quiet, capped{.throttle_reasons = {kPowerCap}}, hot{.throttle_reasons = {"hw_thermal_slowdown"}},
      shared{.foreign_process_count = 1};
  EXPECT_FALSE(Disturbed(quiet, capped));
  EXPECT_TRUE(Disturbed(quiet, hot));
  EXPECT_TRUE(Disturbed(hot, quiet));
  EXPECT_TRUE(Disturbed(quiet, shared));
}

TEST(Summarise, MedianClockAndHighestRest) {
  const Conditions c = Summarise({{.sm_clock_mhz = 1000, .power_watts = 100, .temperature_celsius = 40},
                                  {.sm_clock_mhz = 1800, .power_watts = 700, .temperature_celsius = 70},
                                  {.sm_clock_mhz = 1900, .power_watts = 600, .throttle_reasons = {"a"}},
                                  {}},
                                 3);
  EXPECT_EQ(c.sm_clock_mhz, 1800);
  EXPECT_EQ(c.power_watts, 700);
  EXPECT_EQ(c.temperature_celsius, 70);
  EXPECT_EQ(c.memory_clock_mhz, 0) << "never told";
  EXPECT_EQ(c.throttle_reasons, std::vector<std::string>{"a"});
  EXPECT_EQ(c.dropped_sample_count, 3);
}

TEST(WorstOf, OneDeviceIsEnoughToDisturb) {
  DeviceState good, bad;
  good.sm_clock_mhz = 1980;
  good.power_watts = 500;
  bad.sm_clock_mhz = 1410;
  bad.temperature_celsius = 88;
  bad.throttle_reasons = {"hw_thermal_slowdown"};
  bad.foreign_process_count = 1;
  const DeviceState worst = WorstOf({good, bad, good});
  EXPECT_EQ(worst.sm_clock_mhz, 1410);
  EXPECT_EQ(worst.memory_clock_mhz, -1) << "nobody told";
  EXPECT_EQ(worst.power_watts, 500);
  EXPECT_EQ(worst.temperature_celsius, 88);
  EXPECT_TRUE(Disturbed(good, worst));
  EXPECT_FALSE(Disturbed(good, WorstOf({good, good})));
}

}  // namespace
}  // namespace flightplan::probe
