#include "resolver/derive/batch.h"

#include "gtest/gtest.h"

namespace flightplan {
namespace {

TEST(NumMicrobatches, DividesByMicroBatchAndReplicas) {
  EXPECT_EQ(NumMicrobatches(256, 2, 8), 16);
  EXPECT_EQ(NumMicrobatches(10, 2, 8), 0);
  EXPECT_EQ(NumMicrobatches(10, 0, 8), std::nullopt);
  EXPECT_EQ(NumMicrobatches(10, INT64_MAX, 8), std::nullopt);
}

TEST(FirstScheduledBatch, ReadsThresholdsWithSuffixes) {
  EXPECT_EQ(FirstScheduledBatch("0:768 250B:1536"), 768);
  EXPECT_EQ(FirstScheduledBatch("1K:8,0:4"), 4);
  EXPECT_EQ(FirstScheduledBatch("0:1.5K"), 1500);
  EXPECT_EQ(FirstScheduledBatch("10:8"), std::nullopt);
  EXPECT_EQ(FirstScheduledBatch("x"), std::nullopt);
  EXPECT_EQ(FirstScheduledBatch("0:nan"), std::nullopt);
  EXPECT_EQ(FirstScheduledBatch(""), std::nullopt);
  EXPECT_EQ(FirstScheduledBatch("0:8 1_000:16"), 8);
  EXPECT_EQ(FirstScheduledBatch("0:8 0:16"), std::nullopt);
  EXPECT_EQ(FirstScheduledBatch("0:8 100:0"), std::nullopt);
}

TEST(FirstScheduledBatch, CountsTokensInWholeSequences) {
  EXPECT_EQ(FirstScheduledBatch("100:8 4096:16", 4096), 8);
  EXPECT_EQ(FirstScheduledBatch("0:8 4095:16", 4096), std::nullopt);
}

TEST(StepBatch, IsTheSchedulesWhereThereIsOne) {
  Config config;
  EXPECT_EQ(StepBatch(config, PartOfRun::kMost), std::nullopt);
  config.Set(Knob::global_batch_size, 64, Origin::kUpstream);
  EXPECT_EQ(StepBatch(config, PartOfRun::kStart), 64);
  EXPECT_EQ(StepBatch(config, PartOfRun::kMost), 64);
  config.Set(Knob::step_batch_size_schedule, "0:384 200B:768 400B:1152", Origin::kCaller);
  EXPECT_EQ(StepBatch(config, PartOfRun::kStart), 384);
  EXPECT_EQ(StepBatch(config, PartOfRun::kMost), 1152);
  config.Set(Knob::step_batch_size_schedule, "200B:768", Origin::kCaller);
  EXPECT_EQ(StepBatch(config, PartOfRun::kMost), std::nullopt) << "upstream refuses it";
}

TEST(StepMicrobatches, UsesTheRampOnlyBefore18) {
  Config config;
  Environment env;
  config.Set(Knob::micro_batch_size, 1, Origin::kCaller);
  config.Set(Knob::global_batch_size, 64, Origin::kCaller);
  EXPECT_EQ(StepMicrobatches(config, env), std::nullopt);  // nobody said how many replicas there are
  env.data_parallel_size = 8;
  EXPECT_EQ(StepMicrobatches(config, env), 8);
  config.Set(Knob::rampup_batch_size, Value::List{Value(16), Value(16), Value(1000)}, Origin::kCaller);
  EXPECT_EQ(StepMicrobatches(config, env), 8);
  env.core_release = 17;
  EXPECT_EQ(StepMicrobatches(config, env), 2);
}

}  // namespace
}  // namespace flightplan
