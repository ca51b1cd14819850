#include "resolver/estimate/schedule.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace flightplan
