#include "resolver/estimate/estimate.h"

#include <gtest/gtest.h>

#include "resolver/catalog/catalog.h"

namespace flightplan {
namespace {

TEST(Estimate, SumsTheFullestStage) {
  const Catalog catalog = *Catalog::Builtin();
  NormalizedIntent intent;
  intent.model = **catalog.FindModel("mixtral-8x7b");
  intent.gpu = **catalog.FindGpu("h100");
  intent.env.world_size = 16;
  Config config;
  config.Set(Knob::tensor_model_parallel_size, Value(2), Origin::kCaller);
  config.Set(Knob::expert_model_parallel_size, Value(8), Origin::kCaller);
  config.Set(Knob::use_distributed_optimizer, Value(true), Origin::kDecided);
  const EstimatedPlan plan = Estimate(intent, PlaceLayout(config, intent.env), config);
  ASSERT_EQ(plan.stages.size(), 1U);
  EXPECT_EQ(plan.fullest_bytes, plan.stages[0].total_bytes);
  EXPECT_NEAR(static_cast<double>(plan.fullest_bytes) / (1 << 30), 68.61, 0.01);
  EXPECT_GT(plan.usable_bytes, int64_t{70} << 30);
}

TEST(Estimate, SaysNothingWhereTheLayoutDoesNotComeOutEven) {
  const Catalog catalog = *Catalog::Builtin();
  NormalizedIntent intent;
  intent.model = **catalog.FindModel("mixtral-8x7b");
  intent.env.world_size = 10;
  Config config;
  config.Set(Knob::expert_model_parallel_size, Value(8), Origin::kCaller);
  EXPECT_TRUE(Estimate(intent, PlaceLayout(config, intent.env), config).stages.empty());
}

}  // namespace
}  // namespace flightplan
