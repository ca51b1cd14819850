#include <gtest/gtest.h>

#include "resolver/estimate/step_test_util.h"

namespace flightplan {
namespace {

// The optimizer's time without what every step has.
double OptimizerUs(Case& c) { return c.Forecast().parts.optimizer - c.rates.k.step_fixed_us; }

TEST(OnceAStep, WithoutTheDistributedOptimizerEveryRankUpdatesAllParameters) {
  Case sharded("llama-3.1-8b", "b200", 64), whole = sharded;
  sharded.plan.overlap_grad_reduce = sharded.plan.overlap_param_gather = false;
  whole.plan.overlap_grad_reduce = whole.plan.overlap_param_gather = false;
  whole.plan.distributed_optimizer = false;
  const StepForecast one = sharded.Forecast(), all = whole.Forecast();
  EXPECT_NEAR(OptimizerUs(whole) / OptimizerUs(sharded), 64, 1e-6);
  // An all-reduce of FP32 gradients, 2 x 4 bytes, in place of their reduce-scatter and a gather in 16 bits, 4 + 2.
  EXPECT_NEAR(all.parts.data_parallel / one.parts.data_parallel, 8.0 / 6, 1e-3);
}

TEST(OnceAStep, EveryInstanceOfTheOptimizerUpdatesAllParameters) {
  Case one("llama-3.1-8b", "b200", 64), two = one;
  two.plan.optimizer_instances = 2;
  EXPECT_NEAR(OptimizerUs(two) / OptimizerUs(one), 2, 1e-6);
}

TEST(OnceAStep, InstancesOfFsdpExchangeGradientsOnceAStep) {
  Case one("llama-3.1-8b", "b200", 64);
  one.plan.global_batch_size = 4096;
  Case four = one;
  one.plan.shard_weights = one.plan.shard_gradients = four.plan.shard_weights = four.plan.shard_gradients = true;
  four.plan.optimizer_instances = 4;
  const StepForecast alone = one.Forecast(), instances = four.Forecast();
  const auto traffic = [](const StepForecast& f) { return f.parts.data_parallel + f.hidden.data_parallel; };
  EXPECT_LT(traffic(instances), traffic(alone)) << "fewer ranks to gather from, less of it between nodes";
  EXPECT_GT(instances.parts.optimizer, alone.parts.optimizer);
  four.plan.outer_shards_state = true;
  EXPECT_DOUBLE_EQ(four.Forecast().parts.optimizer, alone.parts.optimizer);
}

// Megatron-FSDP's optim_grads: gradients leave with every backward, weights come once.
TEST(OnceAStep, ShardedGradientsAreReducedInEveryBackward) {
  Case once("llama-3.1-8b", "h100", 64);
  Case every = once;
  every.plan.shard_gradients = true;
  const auto traffic = [](Case& c) {
    const StepForecast f = c.Forecast();
    return f.parts.data_parallel + f.hidden.data_parallel;
  };
  const double few = traffic(every) / traffic(once);
  every.plan.global_batch_size *= 4;
  once.plan.global_batch_size *= 4;
  EXPECT_GT(few, 3) << "8 microbatches, FP32 gradients against weights of 16 bits";
  EXPECT_GT(traffic(every) / traffic(once), 3 * few);
}

TEST(OnceAStep, GathersWeightsAsTheyTravel) {
  Case c("llama3-8b", "b200", 64);
  c.plan.overlap_grad_reduce = c.plan.overlap_param_gather = false;
  const auto us = [&](GemmPrecision precision) {
    c.plan.precision = precision;
    c.plan.low_precision_weights = precision != GemmPrecision::kBf16;
    return c.Forecast().parts.data_parallel;
  };
  const double bf16 = us(GemmPrecision::kBf16), linear = 6.98 / 8.03;  // of the weights
  EXPECT_DOUBLE_EQ(us(GemmPrecision::kMxfp8), bf16) << "a view in 16 bits";
  EXPECT_NEAR(us(GemmPrecision::kFp8Tensorwise) / bf16, 1 - linear / 6, 1e-3);
  EXPECT_NEAR(us(GemmPrecision::kNvfp4) / bf16, 1 - 1.5 * linear / 6, 1e-3);
  c.plan.shard_weights = c.plan.shard_gradients = true;
  EXPECT_LT(us(GemmPrecision::kMxfp8), us(GemmPrecision::kBf16)) << "FSDP gathers a byte";
}

// A single stage has both matrices of the vocabulary.
TEST(OnceAStep, UpdatesTheEmbeddingAndTheOutputMatrix) {
  Case untied("llama3-8b", "h100", 8), tied = untied;
  tied.shape.tied = true;
  tied.work = WorkOf(tied.shape);
  EXPECT_NEAR(OptimizerUs(untied) / OptimizerUs(tied), 8.03 / (8.03 - 0.525), 1e-3);
}

}  // namespace
}  // namespace flightplan
