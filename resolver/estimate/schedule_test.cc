#include "resolver/estimate/schedule.h"

#include <gtest/gtest.h>

#include <cmath>

#include "resolver/estimate/step_test_util.h"

namespace flightplan {
namespace {

// Layers leave beside the forward pass and come back beside the backward: NVLink-C2C carries half of the layers of
// Llama-3 70B in time, but not for nothing.
TEST(Schedule, OffloadedLayersCostTheirCopies) {
  const auto longer = [](const char* gpu, int layers) {
    Case c("llama3-70b", gpu, 64);
    c.plan.seq_length = 8192;
    c.plan.global_batch_size = 128;
    c.plan.micro_batch_size = 2;
    c.plan.shard_weights = true;
    const double without = c.Forecast().us;
    c.plan.offload_layers = layers;
    return c.Forecast().us / without;
  };
  EXPECT_GT(longer("gb200", 40), 1.03);
  EXPECT_LT(longer("gb200", 40), 1.2);
  EXPECT_LT(longer("gb200", 20), longer("gb200", 40));
  EXPECT_GT(longer("b200", 40), 1.3) << "PCIe";
}

// One forward kernel of hyper-connections is published.
TEST(Schedule, AnIntervalKnowsOfHyperConnections) {
  const auto width = [](const char* model) {
    Case c(model, "gb200", 256);
    c.plan.ep = 64;
    c.plan.precision = GemmPrecision::kMxfp8;
    const StepForecast forecast = c.Forecast();
    return std::log(forecast.high_us / forecast.low_us);
  };
  EXPECT_GT(width("deepseek-v4-flash"), 2 * width("deepseek-v3"));
}

}  // namespace
}  // namespace flightplan
