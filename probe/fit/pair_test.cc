#include "probe/fit/pair.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

#include "probe/fit/sm_advice.h"

namespace flightplan::fit {
namespace {

using N = PairNode;

PairParts Parts(double compute, double exchange) {
  PairParts parts;
  parts[N::kPreFwd] = 1.0 * compute, parts[N::kPreBwd] = 1.2 * compute, parts[N::kPreWgrad] = 0.8 * compute;
  parts[N::kMlpFwd] = 1.5 * compute, parts[N::kMlpBwd] = 1.7 * compute, parts[N::kMlpWgrad] = 1.4 * compute;
  parts[N::kDispatchFwd] = 0.9 * exchange, parts[N::kCombineFwd] = 1.1 * exchange;
  parts[N::kDispatchBwd] = 1.1 * exchange, parts[N::kCombineBwd] = 1.0 * exchange;
  return parts;
}

double Sum(const PairParts& parts, bool exchange) {
  double sum = 0;
  for (size_t i = 0; i < kPairNodes; ++i) {
    if (IsExchange(static_cast<N>(i)) == exchange) sum += parts.us[i];
  }
  return sum;
}

constexpr PairSchedule kSchedules[] = {
    {true, false, false}, {true, true, false}, {true, false, true}, {true, true, true}};

TEST(ForecastPair, WithoutOverlapItIsTheSum) {
  const PairParts parts = Parts(100, 60);
  const PairForecast forecast = ForecastPair(parts, {.overlap = false});
  EXPECT_NEAR(forecast.us, Sum(parts, true) + Sum(parts, false), 1e-9);
  EXPECT_EQ(forecast.hidden_us, 0);
  EXPECT_NEAR(forecast.exposed_us, Sum(parts, true), 1e-9);
}

// Worked by hand: combine.bwd (2) beside pre.fwd (3); mlp.bwd + wgrad (4) beside dispatch.fwd (2, from 3 to 5);
// dispatch.bwd (2) from 7 beside mlp.fwd (3, 7 to 10); combine.fwd (2, 10 to 12) beside pre.bwd (2, 10 to 12).
TEST(ForecastPair, FollowsTheHostsOrder) {
  PairParts parts;
  for (const N node : {N::kCombineBwd, N::kDispatchFwd, N::kDispatchBwd, N::kCombineFwd}) parts[node] = 2;
  parts[N::kPreFwd] = 3, parts[N::kMlpBwd] = 3, parts[N::kMlpWgrad] = 1, parts[N::kMlpFwd] = 3, parts[N::kPreBwd] = 2;
  const PairForecast forecast = ForecastPair(parts, {});
  EXPECT_NEAR(forecast.us, 12, 1e-9);
  EXPECT_NEAR(forecast.hidden_us, 8, 1e-9);
  EXPECT_NEAR(forecast.exposed_us, 0, 1e-9);
}

TEST(ForecastPair, StaysBetweenTheBoundsForAnyParts) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> us(0, 500), slow(1, 2);
  for (int draw = 0; draw < 5000; ++draw) {
    PairParts parts;
    for (size_t i = 0; i < kPairNodes; ++i) {
      parts.us[i] = draw % 7 == static_cast<int>(i) ? 0 : us(random);
      parts.beside[i] = {slow(random), slow(random)};
    }
    const double compute = Sum(parts, false), exchange = Sum(parts, true);
    for (const PairSchedule& schedule : kSchedules) {
      const PairForecast forecast = ForecastPair(parts, schedule);
      ASSERT_GE(forecast.us, std::max(compute, exchange) - 1e-6);
      // Both at once cost at most twice as long each: no worse than one after the other, stretched.
      ASSERT_LE(forecast.us, 2 * (compute + exchange) + 1e-6);
      ASSERT_EQ(forecast.span_count, kPairNodes);
      for (size_t i = 0; i < kPairNodes; ++i) {
        const PairSpan& span = forecast.spans[i];
        ASSERT_GE(span.end_us - span.start_us, parts[span.node] - 1e-6) << Name(span.node);
        ASSERT_LE(span.end_us, forecast.us + 1e-6);
        ASSERT_GE(span.start_us, forecast.spans[i > 0 ? i - 1 : 0].start_us - 1e-9);
      }
    }
  }
}

TEST(ForecastPair, DelayedWeightGradientsPayInTheBandBetweenTheBounds) {
  EXPECT_LT(ForecastPair(Parts(1, 2), {.delay_wgrad = true}).us, ForecastPair(Parts(1, 2), {}).us);
  EXPECT_NEAR(ForecastPair(Parts(1, 0.1), {.delay_wgrad = true}).us, ForecastPair(Parts(1, 0.1), {}).us, 0.2);
}

TEST(ForecastPair, EarlyAttentionReleaseExposesTheCombine) {
  EXPECT_GT(ForecastPair(Parts(1, 1), {.early_release = true}).us, ForecastPair(Parts(1, 1), {}).us);
}

// Falls until an exchange of `filled` SMs fills its link, then rises by what it takes from the compute.
std::array<double, kSmCounts> TimesOf(int filled) {
  std::array<double, kSmCounts> us{};
  for (size_t i = 0; i < kSmCounts; ++i) {
    const int sms = kLeastSms + 2 * static_cast<int>(i);
    us[i] = 1000.0 + (sms < filled ? 20.0 * (filled - sms) : 2.0 * (sms - filled));
  }
  return us;
}

TEST(PickSms, FollowsTheShortest) {
  for (const int filled : {8, 20, 64}) {
    const SmAdvice advice = PickSms(TimesOf(filled), kSmCounts, 0.02);
    EXPECT_EQ(advice.best, filled);
    EXPECT_EQ(advice.best_us, 1000);
    EXPECT_LE(advice.low, advice.best);
    EXPECT_GE(advice.high, advice.best);
    EXPECT_GE(advice.low, kLeastSms);
    EXPECT_LE(advice.high, kMostSms);
  }
  EXPECT_EQ(PickSms(TimesOf(20), 4, 0.02).best, kLeastSms + 6) << "of those that there are";
}

TEST(PickSms, AnUncertainCurveGivesAWiderRange) {
  const SmAdvice sure = PickSms(TimesOf(20), kSmCounts, 0.02), unsure = PickSms(TimesOf(20), kSmCounts, 0.3);
  EXPECT_GT(unsure.high - unsure.low, sure.high - sure.low);
}

}  // namespace
}  // namespace flightplan::fit
