#include <gtest/gtest.h>

#include "resolver/estimate/step_test_util.h"

namespace flightplan {
namespace {

// What the experts of a layout with balanced routing take, and what they take with a capacity.
Case Routed() {
  Case c("qwen3-30b-a3b", "h100", 16);
  c.plan.ep = 16;
  return c;
}

TEST(RoutedRows, PaddedExpertsComputeAndSendTheirCapacity) {
  Case even = Routed(), padded = Routed();
  padded.plan.drop_pad = true;
  padded.plan.capacity_factor = padded.plan.imbalance = 4;
  const StepForecast one = even.Forecast(), four = padded.Forecast();
  EXPECT_GT(four.parts.matmul, 2 * one.parts.matmul);
  EXPECT_GT(four.parts.expert_exchange, 3 * one.parts.expert_exchange);
  // How full the experts are is known: no router's skew makes the interval wider.
  EXPECT_LT(four.high_us / four.us, 1.05 * one.high_us / one.us);
  padded.plan.capacity_factor = padded.plan.imbalance = 1;
  EXPECT_NEAR(padded.Forecast().parts.matmul / one.parts.matmul, 1, 1e-6);
}

TEST(RoutedRows, ACapacityWithoutPaddingBoundsTheBusiestRank) {
  Case natural = Routed(), bounded = Routed();
  natural.plan.imbalance = bounded.plan.imbalance = kTrainingImbalance;
  bounded.plan.capacity_factor = 1.01F;
  const double us = natural.Forecast().parts.matmul;
  EXPECT_LT(bounded.Forecast().parts.matmul, us);
  bounded.plan.capacity_factor = 4;
  EXPECT_EQ(bounded.Forecast().parts.matmul, us);
}

}  // namespace
}  // namespace flightplan
