// The fits against curves that are known: drawn ones under noise, and published measurements.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "probe/fit/alpha_beta.h"
#include "probe/fit/contention.h"
#include "probe/fit/saturating.h"

namespace flightplan::fit {
namespace {

constexpr double kCounts[] = {1, 2, 4, 8, 12, 16, 20, 24, 32, 48, 64, 96, 132};
constexpr double kRows[] = {16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192};
constexpr int kDraws = 200;

class Noise {
 public:
  explicit Noise(unsigned seed) : random_(seed) {}
  double operator()(double value, double sigma) {
    return value * std::exp(std::normal_distribution<double>(0, sigma)(random_));
  }
  double Between(double low, double high) { return std::uniform_real_distribution<double>(low, high)(random_); }

 private:
  std::mt19937 random_;
};

double Interpolate(const std::vector<Sample>& points, double x) {
  size_t i = 1;
  while (i + 1 < points.size() && points[i].x < x) ++i;
  const double t = (std::log(x) - std::log(points[i - 1].x)) / (std::log(points[i].x) - std::log(points[i - 1].x));
  return std::exp((1 - t) * std::log(points[i - 1].y) + t * std::log(points[i].y));
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

TEST(FitSaturating, RecoversABandwidthCurveUnderNoise) {
  std::vector<double> ceiling, slope, between, straight;
  int held = 0, asked = 0;
  for (unsigned draw = 0; draw < kDraws; ++draw) {
    Noise noise(draw);
    const SaturatingCurve truth{noise.Between(10e9, 60e9), noise.Between(4e11, 4e12), noise.Between(1.5, 9), 0, 1, 132};
    std::vector<Sample> samples;
    for (double s : kCounts) samples.push_back({s, noise(truth.At(s), 0.01), 0.02});
    const auto fit = FitSaturating(samples);
    ASSERT_TRUE(fit.has_value());
    ceiling.push_back(std::fabs(fit->ceiling / truth.ceiling - 1));
    slope.push_back(std::fabs(fit->slope / truth.slope - 1));
    for (double s : {3.0, 6.0, 10.0, 28.0, 40.0, 80.0}) {
      const double off = std::fabs(fit->At(s) / truth.At(s) - 1);
      between.push_back(off);
      straight.push_back(std::fabs(Interpolate(samples, s) / truth.At(s) - 1));
      held += off <= fit->error;
      ++asked;
    }
  }
  EXPECT_LT(Median(ceiling), 0.02);
  EXPECT_LT(Median(slope), 0.02);
  EXPECT_GT(held, 0.95 * asked) << "the claimed error must hold";
  EXPECT_LT(Median(between), Median(straight)) << "a line between the neighbours would do better";
}

TEST(FitSaturating, RecoversAGemmCurveUnderNoise) {
  std::vector<double> off;
  for (unsigned draw = 0; draw < kDraws; ++draw) {
    Noise noise(1000 + draw);
    const SaturatingCurve truth{
        noise.Between(1e12, 8e12), noise.Between(3e14, 8e14), noise.Between(0.9, 2), 0, 16, 8192};
    std::vector<Sample> samples;
    for (double m : kRows) samples.push_back({m, noise(truth.At(m), 0.01), 0.02});
    const auto fit = FitSaturating(samples);
    ASSERT_TRUE(fit.has_value());
    for (double m : {24.0, 100.0, 300.0, 1500.0, 6000.0}) off.push_back(std::fabs(fit->At(m) / truth.At(m) - 1));
  }
  EXPECT_LT(Median(off), 0.01);
  EXPECT_LT(*std::max_element(off.begin(), off.end()), 0.06);
}

TEST(FitSaturating, OneDisturbedSampleDoesNotBendTheCurve) {
  const SaturatingCurve truth{30e9, 3.6e12, 4, 0, 1, 132};
  std::vector<Sample> samples;
  for (double s : kCounts) samples.push_back({s, truth.At(s), 0.01});
  samples[6].y *= 0.6;
  const auto fit = FitSaturating(samples);
  ASSERT_TRUE(fit.has_value());
  EXPECT_NEAR(fit->At(24) / truth.At(24), 1, 0.02);
  EXPECT_GT(fit->error, 0.1) << "the curve must say that a sample is far off";
}

// deepseek-ai/DeepEP, hybrid-ep branch @94a9f8f6b1, docs/README_Hybrid-EP.md: B200, EP8, dispatch in bf16, GB/s.
TEST(FitSaturating, FollowsDeepepOnB200) {
  std::vector<Sample> samples;
  const double published[][2] = {{16, 348}, {24, 494}, {28, 560}, {32, 619},
                                 {36, 635}, {40, 629}, {44, 640}, {48, 646}};
  for (const auto& [sms, rate] : published) samples.push_back({sms, rate * 1e9, 0.02});
  const auto fit = FitSaturating(samples);
  ASSERT_TRUE(fit.has_value());
  EXPECT_NEAR(fit->slope, 21.4e9, 1e9);
  EXPECT_NEAR(fit->ceiling, 644e9, 15e9);
  for (const Sample& sample : samples) EXPECT_NEAR(fit->At(sample.x) / sample.y, 1, 0.025) << sample.x << " SMs";
  EXPECT_NEAR(fit->Reaching(0.95), 34, 4);
}

// MooreThreads/SimuMax@4dcaae5, B200, bf16, 5120 x 1536 experts, forward: share of the peak against rows of an expert.
// Its neighbours at 1232 and 2460 rows differ by a quarter, which no smooth curve follows: the error says so.
TEST(FitSaturating, FollowsGroupedProductsOnB200) {
  std::vector<Sample> samples;
  const double published[][2] = {{154, 0.117}, {308, 0.235}, {616, 0.313}, {1232, 0.395}, {2460, 0.496}, {9832, 0.445}};
  for (const auto& [rows, share] : published) samples.push_back({rows, share, 0.05});
  const auto fit = FitSaturating(samples);
  ASSERT_TRUE(fit.has_value());
  EXPECT_LT(fit->error, 0.3);
  for (const Sample& sample : samples) EXPECT_LT(std::fabs(fit->At(sample.x) / sample.y - 1), fit->error) << sample.x;
  EXPECT_NEAR(fit->At(4800) / 0.47, 1, 0.07);
}

TEST(FitSaturating, SaysNothingFromNothing) {
  EXPECT_FALSE(FitSaturating({}).has_value());
  EXPECT_FALSE(FitSaturating({{1, 2, 0}, {2, 3, 0}}).has_value());
  EXPECT_FALSE(FitSaturating({{1, NAN, 0}, {2, -3, 0}, {0, 3, 0}, {INFINITY, 1, 0}}).has_value());
  const auto flat = FitSaturating({{1, 5, 0}, {2, 5, 0}, {4, 5, 0}});
  ASSERT_TRUE(flat.has_value());
  EXPECT_NEAR(flat->At(3), 5, 0.3);
  EXPECT_EQ(flat->error, kUntestedError) << "three points test no curve of three parameters";
}

TEST(FitAlphaBeta, RecoversBothPiecesUnderNoise) {
  std::vector<double> alpha, beta, off;
  for (unsigned draw = 0; draw < kDraws; ++draw) {
    Noise noise(2000 + draw);
    AlphaBeta truth;
    truth.small = {noise.Between(3, 6), 1e-5};
    truth.large = {noise.Between(15, 30), 1 / noise.Between(3e5, 5e5)};
    truth.split_bytes = 500e3;
    std::vector<Sample> samples;
    for (int power = 10; power <= 28; ++power) {
      const double bytes = std::ldexp(1.0, power);
      samples.push_back({bytes, noise(truth.Us(bytes), 0.01), 0.02});
    }
    const auto fit = FitAlphaBeta(samples);
    ASSERT_TRUE(fit.has_value());
    ASSERT_GT(fit->split_bytes, 0) << "two pieces were there";
    alpha.push_back(std::fabs(fit->small.alpha_us / truth.small.alpha_us - 1));
    beta.push_back(std::fabs(fit->large.us_per_byte / truth.large.us_per_byte - 1));
    for (double bytes : {3e3, 50e3, 2e6, 70e6}) off.push_back(std::fabs(fit->Us(bytes) / truth.Us(bytes) - 1));
  }
  EXPECT_LT(Median(alpha), 0.01);
  EXPECT_LT(Median(beta), 0.01);
  EXPECT_LT(Median(off), 0.01);
}

TEST(FitAlphaBeta, OnePieceStaysOne) {
  int split = 0;
  for (unsigned draw = 0; draw < kDraws; ++draw) {
    Noise noise(3000 + draw);
    std::vector<Sample> samples;
    for (int power = 10; power <= 28; ++power) {
      const double bytes = std::ldexp(1.0, power);
      samples.push_back({bytes, noise(8 + bytes / 4e5, 0.01), 0.02});
    }
    split += FitAlphaBeta(samples)->split_bytes > 0;
  }
  EXPECT_LT(split, kDraws / 5);
}

TEST(FitAlphaBeta, NeverGivesANegativeTime) {
  const auto falling = FitAlphaBeta({{1e3, 9, 0}, {1e4, 8, 0}, {1e5, 7, 0}});
  ASSERT_TRUE(falling.has_value());
  EXPECT_GT(falling->Us(1e9), 0);
  const auto through_zero = FitAlphaBeta({{1e3, 1, 0}, {1e4, 12, 0}, {1e5, 130, 0}});
  EXPECT_GE(through_zero->Us(1), 0);
  EXPECT_FALSE(FitAlphaBeta({{1e3, 9, 0}, {1e3, 8, 0}}).has_value());
}

TEST(FitCorun, RecoversBothSlowdownsUnderNoise) {
  std::vector<double> compute, communication;
  int held = 0, asked = 0;
  for (unsigned draw = 0; draw < kDraws; ++draw) {
    Noise noise(4000 + draw);
    const CorunCurve truth{132, noise.Between(1.0, 1.1), noise.Between(0.9, 1.4), noise.Between(1.1, 1.5), 0.3, 0};
    std::vector<CorunSample> samples;
    for (double s : {4, 8, 16, 24, 32, 48}) {
      const Slowdown at = truth.At(s);
      samples.push_back({s, {noise(at.compute, 0.01), noise(at.communication, 0.01)}, 0.02});
    }
    const auto fit = FitCorun(samples, 132);
    ASSERT_TRUE(fit.has_value());
    for (double s : {6.0, 20.0, 40.0}) {
      compute.push_back(std::fabs(fit->At(s).compute / truth.At(s).compute - 1));
      communication.push_back(std::fabs(fit->At(s).communication / truth.At(s).communication - 1));
      held += std::fabs(fit->At(s).Gain() - truth.At(s).Gain()) <= fit->GainError(s);
      ++asked;
    }
  }
  EXPECT_LT(Median(compute), 0.01);
  EXPECT_LT(Median(communication), 0.01);
  EXPECT_GT(held, 0.95 * asked);
}

TEST(FitCorun, OneCountGivesTheIdealSlope) {
  const auto fit = FitCorun({{20, {1.25, 1.3}, 0.02}}, 132);
  ASSERT_TRUE(fit.has_value());
  EXPECT_NEAR(fit->At(20).compute, 1.25, 1e-9);
  EXPECT_NEAR(fit->At(20).communication, 1.3, 1e-9);
  EXPECT_GT(fit->At(40).compute, 1.35);
  EXPECT_GE(fit->error, kUntestedError);
  EXPECT_FALSE(FitCorun({{20, {NAN, 1}, 0}, {200, {1, 1}, 0}}, 132).has_value());
  EXPECT_FALSE(FitCorun({{20, {1, 1}, 0}}, 0).has_value());
}

}  // namespace
}  // namespace flightplan::fit
