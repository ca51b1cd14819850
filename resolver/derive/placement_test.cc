#include "resolver/derive/placement.h"

#include <gtest/gtest.h>

#include <limits>

namespace flightplan {
namespace {

Config Layout(int64_t tp, int64_t pp, int64_t cp, int64_t ep, int64_t gbs) {
  Config config;
  config.Set(Knob::tensor_model_parallel_size, Value(tp), Origin::kCaller);
  config.Set(Knob::pipeline_model_parallel_size, Value(pp), Origin::kCaller);
  config.Set(Knob::context_parallel_size, Value(cp), Origin::kCaller);
  config.Set(Knob::expert_model_parallel_size, Value(ep), Origin::kCaller);
  config.Set(Knob::expert_tensor_parallel_size, Value(1), Origin::kCaller);
  config.Set(Knob::global_batch_size, Value(gbs), Origin::kCaller);
  return config;
}

Environment Cluster(int64_t world, int domain) {
  Environment env;
  env.world_size = world;
  env.nvlink_domain_gpus = domain;
  env.gpus_per_node = 8;
  return env;
}

TEST(Placement, GivesTheGroupSizesOfDeepSeekV3OnH100) {
  const Placement placement = PlaceLayout(Layout(2, 8, 1, 64, 8192), Cluster(1024, 8));
  EXPECT_EQ(placement.data_parallel_size, 64);
  EXPECT_EQ(placement.expert_data_parallel_size, 2);
  EXPECT_EQ(placement.microbatch_count, 128);
  EXPECT_EQ(placement.ep_domain_count, 8);
  EXPECT_TRUE(placement.ep_crosses_node);
  Config unset = Layout(2, 8, 1, 64, 8192);
  unset.Set(Knob::expert_tensor_parallel_size, Value(), Origin::kDefault);  // as TP
  EXPECT_EQ(PlaceLayout(unset, Cluster(1024, 8)).expert_data_parallel_size, 1);
}

TEST(Placement, CountsTheMicrobatchesOfMostOfASchedule) {
  Config config = Layout(8, 1, 1, 1, 128);
  config.Set(Knob::step_batch_size_schedule, Value("0:384 200B:1152"), Origin::kCaller);
  EXPECT_EQ(PlaceLayout(config, Cluster(256, 8)).microbatch_count, 1152 / 32);
}

TEST(Placement, KeepsAnExpertGroupInsideOneRack) {
  EXPECT_EQ(PlaceLayout(Layout(1, 4, 1, 64, 2048), Cluster(256, 72)).ep_domain_count, 1);
}

TEST(Placement, SaysZeroWhereItDoesNotComeOutEven) {
  const Placement placement = PlaceLayout(Layout(3, 1, 1, 5, 7), Cluster(16, 8));
  EXPECT_EQ(placement.data_parallel_size, 0);
  EXPECT_EQ(placement.expert_data_parallel_size, 0);
  EXPECT_EQ(placement.microbatch_count, 0);
}

TEST(Placement, SurvivesAbsurdSizes) {
  const int64_t huge = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(PlaceLayout(Layout(huge, huge, huge, huge, huge), Cluster(1024, 8)).data_parallel_size, 0);
  EXPECT_EQ(PlaceLayout(Layout(-1, 0, -5, 0, -7), Cluster(8, 0)).data_parallel_size, 8);
}

}  // namespace
}  // namespace flightplan
