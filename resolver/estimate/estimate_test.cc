#include "resolver/estimate/estimate.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "resolver/catalog/catalog.h"
#include "resolver/estimate/memory.h"

namespace flightplan {
namespace {

const Catalog& BuiltIn() {
  static const Catalog* const kCatalog = new Catalog(*Catalog::Builtin());
  return *kCatalog;
}

NormalizedIntent Mixtral(int64_t gpus) {
  NormalizedIntent intent;
  intent.model = **BuiltIn().FindModel("mixtral-8x7b");
  intent.gpu = **BuiltIn().FindGpu("h100");
  intent.env.world_size = gpus;
  return intent;
}

Config Plan(int64_t tp, int64_t ep) {
  Config config;
  config.Set(Knob::bf16, Value(true), Origin::kDecided);
  config.Set(Knob::tensor_model_parallel_size, Value(tp), Origin::kCaller);
  config.Set(Knob::expert_model_parallel_size, Value(ep), Origin::kCaller);
  config.Set(Knob::expert_tensor_parallel_size, Value(1), Origin::kCaller);
  config.Set(Knob::use_distributed_optimizer, Value(true), Origin::kDecided);
  config.Set(Knob::sequence_parallel, Value(true), Origin::kDecided);
  config.Set(Knob::seq_length, Value(4096), Origin::kCaller);
  config.Set(Knob::micro_batch_size, Value(1), Origin::kCaller);
  config.Set(Knob::global_batch_size, Value(256), Origin::kCaller);
  return config;
}

std::optional<ModelShape> Shape(const NormalizedIntent& intent) {
  const auto shape = MakeShape(intent.model);
  return shape.ok() ? std::optional<ModelShape>(*shape) : std::nullopt;
}

TEST(Estimate, StaticMemoryIsThatOfTheFormulas) {
  const NormalizedIntent intent = Mixtral(16);
  const Config config = Plan(2, 8);
  const EstimatedPlan plan = Estimate(intent, Shape(intent), PlaceLayout(config, intent.env), config);
  ASSERT_EQ(plan.stages.size(), 1U);
  EXPECT_NEAR(static_cast<double>(plan.static_bytes) / (1 << 30), 68.61, 0.01);
  EXPECT_GT(plan.stages[0].total.value, static_cast<double>(plan.static_bytes));
  EXPECT_GT(plan.usable_bytes, int64_t{70} << 30);
}

// What the catalogue has of a model for images is its language model, which Megatron-LM's own programs train alone.
TEST(Estimate, SaysThatEncodersAreNotCounted) {
  NormalizedIntent intent = Mixtral(8);
  intent.model = **BuiltIn().FindModel("qwen3-vl-30b-a3b");
  const Config config = Plan(1, 8);
  for (const Target target : {Target::kMegatronLm, Target::kMegatronBridge}) {
    intent.env.target = target;
    const EstimatedPlan plan = Estimate(intent, Shape(intent), PlaceLayout(config, intent.env), config);
    EXPECT_EQ(absl::StrContains(plan.scope, "but the model's encoders"), target == Target::kMegatronBridge);
  }
}

TEST(Estimate, VerdictFollowsTheBand) {
  Config config = Plan(2, 8);
  config.Set(Knob::recompute_granularity, Value("full"), Origin::kCaller);
  const auto fit = [&](int64_t gpus) {
    const NormalizedIntent intent = Mixtral(gpus);
    return Estimate(intent, Shape(intent), PlaceLayout(config, intent.env), config).fit;
  };
  EXPECT_EQ(fit(256), FitVerdict::kFits);
  config = Plan(2, 1);
  EXPECT_EQ(fit(8), FitVerdict::kDoesNotFit);
}

TEST(Estimate, ExpandableSegmentsNarrowTheBand) {
  const NormalizedIntent intent = Mixtral(64);
  const Config config = Plan(2, 8);
  const Placement placement = PlaceLayout(config, intent.env);
  const EstimatedPlan without = Estimate(intent, Shape(intent), placement, config);
  const EstimatedPlan with =
      Estimate(intent, Shape(intent), placement, config, {{"PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True"}});
  EXPECT_LT(with.stages[0].total.high, without.stages[0].total.high);
}

TEST(Estimate, OfAVerdictHasTheStagesThatCanBeTheFullest) {
  NormalizedIntent intent = Mixtral(64);
  Config config = Plan(1, 8);
  config.Set(Knob::pipeline_model_parallel_size, Value(8), Origin::kCaller);
  for (const int vpp : {1, 2, 4}) {
    config.Set(Knob::virtual_pipeline_model_parallel_size, Value(vpp), Origin::kCaller);
    const auto estimate = [&](View view) {
      intent.view = view;
      return Estimate(intent, Shape(intent), PlaceLayout(config, intent.env), config);
    };
    const EstimatedPlan full = estimate(View::kFull), verdict = estimate(View::kVerdict);
    EXPECT_EQ(full.stages.size(), 8U);
    EXPECT_EQ(verdict.stages.size(), full.layout.distinct_ranks.size());
    EXPECT_EQ(verdict.stages[verdict.fullest].rank, full.stages[full.fullest].rank);
    EXPECT_EQ(verdict.stages[verdict.fullest].total.value, full.stages[full.fullest].total.value);
    EXPECT_EQ(verdict.fit, full.fit);
    EXPECT_EQ(verdict.widest, full.widest);
  }
}

TEST(Estimate, SaysNothingWhereTheLayoutDoesNotComeOutEven) {
  const NormalizedIntent intent = Mixtral(10);
  EXPECT_TRUE(Estimate(intent, Shape(intent), PlaceLayout(Plan(1, 8), intent.env), Plan(1, 8)).stages.empty());
}

// Nearly the same may be filled instead, up to the room that ranks before the next.
TEST(RoomOf, IsTheFirstThatHoldsThePlan) {
  EXPECT_EQ(RoomOf(0.2), kRoom);
  EXPECT_EQ(RoomOf(kRoom), kRoom);
  EXPECT_EQ(RoomOf(0.9401), kTightRoom);
  EXPECT_EQ(RoomOf(0.98), 1);
  EXPECT_EQ(RoomOf(1.1), 1.1);
}

TEST(RoomInPlaceOf, EndsWhereTheNextRoomBegins) {
  EXPECT_DOUBLE_EQ(RoomInPlaceOf(0.9), 0.9 * 1.002);
  EXPECT_EQ(RoomInPlaceOf(0.9399), kRoom);
  EXPECT_DOUBLE_EQ(RoomInPlaceOf(0.95), 0.95 * 1.002);
  EXPECT_EQ(RoomInPlaceOf(0.9699), kTightRoom);
  EXPECT_EQ(RoomInPlaceOf(0.9999), 1);
  EXPECT_EQ(RoomInPlaceOf(1.1), 1.1);
}

}  // namespace
}  // namespace flightplan
