// Modules and tensors that only LoongForge recomputes and offloads, beside the exchange that it overlaps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "resolver/rules/decide/decide_test_util.h"

namespace flightplan {
namespace {

NormalizedIntent OnLoongForge(NormalizedIntent intent) {
  intent.env.target = Target::kLoongForge;
  intent.env.core_release = 15;
  intent.env.capabilities = {"deepep"};  // with hybridep and memory this tight, overlap "needs an A/B"
  return intent;
}

std::vector<std::string> Modules(const DecidedPlan& plan, Knob knob) {
  std::vector<std::string> names;
  for (const Value& value : plan.config.Get(knob).list()) names.emplace_back(value.text());
  return names;
}

TEST(LoongForge, RecomputesInsideTheOverlapScheduleRatherThanGiveItUp) {
  NormalizedIntent upstream =
      Intent("qwen3-30b-a3b", "h100-sxm", 16, {.tp = 1, .pp = 1, .vpp = 1, .cp = 1, .ep = 16, .mbs = 1}, 4096);
  upstream.workload.seq_length = 8192;
  const DecidedPlan plan = Plan(OnLoongForge(upstream));
  EXPECT_TRUE(plan.config.Get(Knob::overlap_moe_expert_parallel_comm).truthy());
  EXPECT_EQ(plan.config.Get(Knob::recompute_granularity).text(), "selective");
  EXPECT_THAT(Modules(plan, Knob::recompute_modules), ::testing::Contains("a2a_overlap_mlp"));
  EXPECT_THAT(Modules(plan, Knob::recompute_modules), ::testing::Not(::testing::Contains("moe_act")));
  for (const std::string& module : Modules(Plan(upstream), Knob::recompute_modules)) {
    EXPECT_NE(module.substr(0, 4), "a2a_") << "upstream rejects it";
  }
}

TEST(LoongForge, OffloadsTheInputsOfRecomputedExpertsWhenThatIsNotEnough) {
  const NormalizedIntent tight = OnLoongForge(
      Intent("deepseek-v3", "h100-sxm", 1024, {.tp = 1, .pp = 8, .vpp = 4, .cp = 1, .ep = 64, .mbs = 1}, 4096));
  const DecidedPlan plan = Plan(tight);
  ASSERT_TRUE(plan.config.Get(Knob::fine_grained_activation_offloading).truthy());
  EXPECT_THAT(Modules(plan, Knob::offload_tensors),
              ::testing::ElementsAre("dispatched_input", "pre_mlp_layernorm_output"));
  EXPECT_TRUE(plan.config.Get(Knob::bindpcie).truthy());
  EXPECT_TRUE(plan.config.Get(Knob::overlap_moe_expert_parallel_comm).truthy());
}

}  // namespace
}  // namespace flightplan
