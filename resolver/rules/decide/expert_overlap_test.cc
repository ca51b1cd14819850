#include <gtest/gtest.h>

#include <utility>

#include "resolver/rules/decide/decide_test_util.h"

namespace flightplan {
namespace {

TEST(ExpertOverlap, PaysWhenTheExchangeCrossesNodes) {
  NormalizedIntent intent = Intent("qwen3-30b-a3b", "h100", 16, {.ep = 16}, 1024);
  Pin(intent, Knob::moe_token_dispatcher_type, "alltoall");
  const DecidedPlan plan = Plan(intent);
  EXPECT_TRUE(On(plan, Knob::overlap_moe_expert_parallel_comm));
  EXPECT_TRUE(Cites(Find(plan, Knob::overlap_moe_expert_parallel_comm), "E-001"));
  const Decision* wgrad = Find(plan, Knob::delay_wgrad_compute);
  ASSERT_NE(wgrad, nullptr);
  EXPECT_FALSE(wgrad->value.truthy());
  EXPECT_TRUE(wgrad->needs_ab);
  ASSERT_FALSE(plan.ab_suggestions.empty());
  EXPECT_EQ(plan.ab_suggestions.back().knob, Knob::delay_wgrad_compute);
}

TEST(ExpertOverlap, DoesNotPayInsideTheNode) {
  NormalizedIntent intent = Intent("qwen3-30b-a3b", "h100", 16, {.ep = 4}, 64);
  Pin(intent, Knob::moe_token_dispatcher_type, "alltoall");
  const DecidedPlan plan = Plan(intent);
  EXPECT_FALSE(On(plan, Knob::overlap_moe_expert_parallel_comm));
  const Decision* overlap = Find(plan, Knob::overlap_moe_expert_parallel_comm);
  ASSERT_NE(overlap, nullptr);
  EXPECT_EQ(overlap->basis, Basis::kMeasured);
  EXPECT_TRUE(Cites(overlap, "E-005"));
}

TEST(ExpertOverlap, DelayedWgradStaysOffForSmallEp) {
  NormalizedIntent intent = Intent("qwen3-next-80b-a3b", "h100", 64, {.ep = 8}, 1024);
  Pin(intent, Knob::moe_token_dispatcher_type, "alltoall");
  Pin(intent, Knob::overlap_moe_expert_parallel_comm, true);
  const DecidedPlan plan = Plan(intent);
  const Decision* wgrad = Find(plan, Knob::delay_wgrad_compute);
  ASSERT_NE(wgrad, nullptr);
  EXPECT_FALSE(wgrad->value.truthy());
  EXPECT_FALSE(wgrad->needs_ab);
  EXPECT_TRUE(Cites(wgrad, "E-006"));
}

TEST(ExpertOverlap, NeedsEnoughMicrobatches) {
  for (const auto& [microbatches, on] : {std::pair<int64_t, bool>{15, false}, {16, true}}) {
    NormalizedIntent intent = Intent("qwen3-30b-a3b", "h100", 16, {.ep = 16}, 16 * microbatches);
    Pin(intent, Knob::moe_token_dispatcher_type, "alltoall");
    EXPECT_EQ(On(Plan(intent), Knob::overlap_moe_expert_parallel_comm), on) << microbatches;
  }
}

TEST(ExpertOverlap, NeedsVirtualStagesWithPipeline) {
  NormalizedIntent intent = Intent("qwen3-30b-a3b", "h100", 64, {.pp = 2, .ep = 16}, 1024);
  EXPECT_FALSE(On(Plan(intent), Knob::overlap_moe_expert_parallel_comm));
  intent.layout.virtual_pipeline_model_parallel_size = 12;
  EXPECT_TRUE(On(Plan(intent), Knob::overlap_moe_expert_parallel_comm));
}

TEST(ExpertOverlap, HasNoScheduleForHybridPatterns) {
  NormalizedIntent intent = Intent("nemotron-3-nano-30b-a3b", "h100", 16, {.ep = 16}, 1024);
  Pin(intent, Knob::moe_token_dispatcher_type, "alltoall");
  EXPECT_FALSE(On(Plan(intent), Knob::overlap_moe_expert_parallel_comm));
}

TEST(ExpertOverlap, StaysOutOfWhatExcludesIt) {
  NormalizedIntent intent = Intent("qwen3-30b-a3b", "h100", 16, {.ep = 16}, 1024);
  Pin(intent, Knob::recompute_granularity, "full");
  EXPECT_FALSE(On(Plan(intent), Knob::overlap_moe_expert_parallel_comm));
  intent = Intent("deepseek-v2-lite", "h100", 16, {.ep = 16}, 1024);
  Pin(intent, Knob::moe_shared_expert_overlap, true);
  EXPECT_FALSE(On(Plan(intent), Knob::overlap_moe_expert_parallel_comm));
  intent = Intent("qwen3-30b-a3b", "h100", 16, {.ep = 16}, 1024);
  intent.env.torch = Version::Parse("2.5.1");
  EXPECT_FALSE(On(Plan(intent), Knob::overlap_moe_expert_parallel_comm));
}

TEST(ExpertOverlap, AProfileOfThisRunDecides) {
  NormalizedIntent intent = Intent("qwen3-30b-a3b", "h100", 128, {.ep = 8}, 2048);
  intent.profile.emplace();
  intent.profile->exposed_all_to_all_ratio = 0.3;
  EXPECT_TRUE(On(Plan(intent), Knob::overlap_moe_expert_parallel_comm));
  intent = Intent("qwen3-30b-a3b", "h100", 16, {.ep = 16}, 1024);
  intent.profile.emplace();
  intent.profile->exposed_all_to_all_ratio = 0.01;
  const DecidedPlan plan = Plan(intent);
  EXPECT_FALSE(On(plan, Knob::overlap_moe_expert_parallel_comm));
  EXPECT_EQ(Find(plan, Knob::overlap_moe_expert_parallel_comm)->basis, Basis::kMeasured);
}

}  // namespace
}  // namespace flightplan
