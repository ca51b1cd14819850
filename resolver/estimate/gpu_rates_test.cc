#include "resolver/estimate/gpu_rates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "resolver/catalog/catalog.h"
#include "resolver/estimate/layer_terms.h"
#include "resolver/estimate/step_test_util.h"

namespace flightplan {
namespace {

TEST(WithProfile, AMeasurementStandsInPlaceOfTheCatalogue) {
  Case c("llama-3.1-70b", "h100", 64, 4);
  const StepForecast before = c.Forecast();
  const ProbeFigure figures[] = {{"mm.dense", 500, 0.01}, {"router.topk", 3, 0.01}};
  c.rates = WithProfile(c.rates, figures);
  const StepForecast after = c.Forecast();
  EXPECT_GT(after.parts.matmul, before.parts.matmul);  // 500 TFLOP/s are less than the catalogue expects
  EXPECT_EQ(after.parts.attention, before.parts.attention);
  EXPECT_LT((after.high_us - after.us) / after.us, (before.high_us - before.us) / before.us);
}

// The curves against what others measured: B200, bf16.
TEST(GpuRates, GroupedProductsFollowTheMeasuredCurve) {
  const GpuRates rates = RatesOf(**TheCatalog().FindGpu("b200"));
  const double large = 0.49;  // what that machine's large products reach
  std::vector<double> errors;
  for (const MeasuredGroupedGemm& row : kMeasuredGroupedGemms) {
    // Published layouts leave an expert some hundreds of rows and more; below, that machine loses more than others do.
    if (row.stage == "weight_gradient" || row.rows < 256) continue;
    const double share = large / (1 + rates.k.gemm_half_rows_grouped / row.rows + rates.k.gemm_half_out / row.n +
                                  rates.k.gemm_half_in / row.k);
    errors.push_back(std::abs(std::log(share / row.share)));
  }
  std::sort(errors.begin(), errors.end());
  ASSERT_GT(errors.size(), 20U);
  EXPECT_LT(errors[errors.size() / 2], 0.15);
  EXPECT_LT(errors.back(), 0.7);
}

// Against gemm.wgrad of catalog/profiles, in microseconds for eight experts.
TEST(GpuRates, WeightGradientsOfFewRowsWaitForTheirBuffer) {
  struct Measured {
    const char* gpu;
    double rows, in, out, us;
  };
  constexpr Measured kMeasured[] = {{"h100-sxm", 256, 2048, 1536, 107},  {"h100-sxm", 1024, 2048, 1536, 135},
                                    {"h100-sxm", 4096, 2048, 1536, 310}, {"h100-sxm", 256, 768, 2048, 60},
                                    {"h100-sxm", 1024, 768, 2048, 79},   {"h200-sxm", 256, 2048, 1536, 87},
                                    {"h200-sxm", 1024, 2048, 1536, 121}};
  Candidate plan;
  plan.gradient_bytes = 4;
  for (const Measured& m : kMeasured) {
    const GpuRates rates = RatesOf(**TheCatalog().FindGpu(m.gpu));
    const LayerTerms terms(ModelWork{}, plan, rates);
    const double us = terms.ExpertProductsOf(8 * m.rows, m.in, m.out, 0, m.rows).wgrad;
    EXPECT_NEAR(us / m.us, 0.88, 0.13) << m.gpu << " " << m.rows << " rows: " << us << " us";
  }
}

TEST(Coefficients, EachHasASourceAndAnError) {
  for (const CoefficientRow& row : kCoefficientRows) {
    EXPECT_FALSE(row.source.empty()) << row.name;
    EXPECT_GT(row.error, 0) << row.name;
    EXPECT_GT(StepCoefficients().*row.field, 0) << row.name;
  }
}

// A card's network is no faster than the link that it hangs on, unless the GPU has another way to it.
TEST(GpuRates, ANetworkCardHangsOnTheHostsLink) {
  GpuSystem gpu = **TheCatalog().FindGpu("l40s");
  const double behind_pcie4 = RatesOf(gpu).collective_network_us;
  gpu.host_link_bytes_per_second = 64e9;
  EXPECT_NEAR(behind_pcie4 / RatesOf(gpu).collective_network_us, 50.0 / 32, 1e-6);
  gpu = **TheCatalog().FindGpu("gb200");
  const double superchip = RatesOf(gpu).collective_network_us;
  gpu.host_link_bytes_per_second = 10e9;
  EXPECT_EQ(RatesOf(gpu).collective_network_us, superchip);
}

// Dao-AILab/flash-attention#1310, zzc0721/torch-performance-test-data#77: the H20 reaches more of its peak.
TEST(GpuRates, CutTensorCoresAreFedAndPowered) {
  const GpuRates h20 = RatesOf(**TheCatalog().FindGpu("h20")), h100 = RatesOf(**TheCatalog().FindGpu("h100"));
  const auto share = [](const GpuRates& rates, double us, GemmPrecision precision) {
    return rates.peak_us[static_cast<size_t>(precision)] / us;
  };
  for (const GemmPrecision precision : {GemmPrecision::kBf16, GemmPrecision::kFp8Blockwise}) {
    const auto at = static_cast<size_t>(precision);
    EXPECT_GT(share(h20, h20.gemm_us[at], precision), 0.9);
    EXPECT_LT(share(h100, h100.gemm_us[at], precision), 0.85);
  }
  EXPECT_GT(share(h20, h20.attention_forward_us, GemmPrecision::kBf16),
            1.1 * share(h100, h100.attention_forward_us, GemmPrecision::kBf16));
}

}  // namespace
}  // namespace flightplan
