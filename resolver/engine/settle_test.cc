#include "resolver/engine/settle.h"

#include <gtest/gtest.h>

#include "resolver/catalog/defaults.h"
#include "resolver/catalog/spellings.h"
#include "resolver/derive/target_knobs.h"

namespace flightplan {
namespace {

Environment Bridge() {
  Environment env;
  env.target = Target::kMegatronBridge;
  env.te = Version::Parse("2.13.0");
  env.torch = Version::Parse("2.11.0");
  env.gpu_name = "NVIDIA GB200";
  env.cc_major = 10;
  return env;
}

DecidedPlan Flex(const Environment& env, Origin origin) {
  DecidedPlan plan;
  plan.config = DefaultsFor(env.target, env.core_release, env.bridge_release, env.mla);
  plan.config.Set(Knob::num_moe_experts, Value(8), Origin::kModel);
  plan.config.Set(Knob::moe_token_dispatcher_type, "flex", origin);
  plan.config.Set(Knob::moe_flex_dispatcher_backend, "deepep", origin);
  if (origin == Origin::kDecided) {
    plan.decisions.push_back(
        {.rule_id = "decide.test", .knob = Knob::moe_flex_dispatcher_backend, .value = "deepep", .reason = "x"});
  }
  return plan;
}

bool HasError(const SettledPlan& settled, absl::string_view id) {
  for (const Finding& finding : settled.run.findings) {
    if (finding.severity == Severity::kError && finding.rule_id == id) return true;
  }
  return false;
}

TEST(Settle, TakesBackADecisionThatTheStackRefuses) {
  const SettledPlan settled = Settle(Flex(Bridge(), Origin::kDecided), Bridge(), {});
  EXPECT_FALSE(HasError(settled, "flex.deepep-gpu"));
  EXPECT_EQ(settled.plan.config.Get(Knob::moe_flex_dispatcher_backend).text(), "hybridep");
  EXPECT_NE(settled.plan.decisions[0].reason.find("flex.deepep-gpu"), std::string::npos);
  ASSERT_EQ(settled.plan.decisions[0].alternatives.size(), 1u);
  EXPECT_EQ(settled.plan.decisions[0].alternatives[0].value, Value("deepep"));
}

TEST(Settle, LeavesTheCallersWord) {
  const SettledPlan settled = Settle(Flex(Bridge(), Origin::kCaller), Bridge(), {});
  EXPECT_TRUE(HasError(settled, "flex.deepep-gpu"));
  EXPECT_EQ(settled.plan.config.Get(Knob::moe_flex_dispatcher_backend).text(), "deepep");
}

TEST(WriteForTarget, BridgeReadsOverlapFromItsOwnSection) {
  Config config = DefaultsFor(Target::kMegatronBridge, kMain, kMain, false);
  config.Set(Knob::overlap_moe_expert_parallel_comm, true, Origin::kDecided);
  config.Set(Knob::bf16, true, Origin::kDecided);
  const Config written = WriteForTarget(config, Bridge());
  EXPECT_EQ(written.Get(Knob::comm_overlap_overlap_moe_expert_parallel_comm), Value(true));
  EXPECT_EQ(written.Get(Knob::comm_overlap_configured), Value(true));
  EXPECT_EQ(written.Get(Knob::mixed_precision_recipe).text(), "bf16_mixed");
  // The caller's own place stays.
  config.Set(Knob::comm_overlap_overlap_moe_expert_parallel_comm, false, Origin::kCaller);
  EXPECT_EQ(WriteForTarget(config, Bridge()).Get(Knob::comm_overlap_overlap_moe_expert_parallel_comm), Value(false));
}

TEST(WriteForTarget, CommandLineCountsVirtualStages) {
  Environment env;
  env.target = Target::kMegatronLm;
  Config config = DefaultsFor(env.target, kMain, kMain, false);
  config.Set(Knob::virtual_pipeline_model_parallel_size, 4, Origin::kCaller);
  Config written = WriteForTarget(config, env);
  EXPECT_EQ(written.Get(Knob::num_virtual_stages_per_pipeline_rank), Value(4));
  EXPECT_TRUE(written.Get(Knob::virtual_pipeline_model_parallel_size).is_none());
  // A layout string says how many there are; both together are refused.
  config.Set(Knob::pipeline_model_parallel_layout, "Et|tL", Origin::kDecided);
  EXPECT_TRUE(WriteForTarget(config, env).Get(Knob::num_virtual_stages_per_pipeline_rank).is_none());
}

TEST(WriteForTarget, CommandLineSaysFieldsOfDdpByItsArguments) {
  for (const Target target : {Target::kMegatronLm, Target::kLoongForge}) {
    Environment env;
    env.target = target;
    Config config = DefaultsFor(target, kMain, kMain, false);
    config.Set(Knob::bucket_size, 1000, Origin::kCaller);
    config.Set(Knob::average_in_collective, true, Origin::kCaller);
    config.Set(Knob::check_for_nan_in_grad, false, Origin::kCaller);
    const Config written = WriteForTarget(config, env);
    EXPECT_EQ(written.Get(Knob::ddp_bucket_size), Value(1000));
    EXPECT_EQ(written.Get(Knob::ddp_average_in_collective), Value(true));
    EXPECT_NE(written.Get(Knob::check_for_nan_in_loss_and_grad), Value(false)) << "it would leave out the loss's, too";
  }
}

// Each stack's own spelling of what is one value to the config class.
TEST(WriteForTarget, SaysAFieldByTheFlagThatIsCopiedIntoIt) {
  for (const auto& [field, argument] : CopiedArguments()) {
    Environment env;
    env.target = Target::kMegatronLm;
    Config config = DefaultsFor(env.target, kMain, kMain, false);
    config.Set(field, 7, Origin::kCaller);
    EXPECT_EQ(WriteForTarget(config, env).Get(argument), Value(7)) << Name(argument);
    config.Set(argument, 8, Origin::kCaller);
    EXPECT_EQ(WriteForTarget(config, env).Get(argument), Value(8)) << Name(argument);
  }
  Config config = DefaultsFor(Target::kMegatronBridge, kMain, kMain, false);
  config.Set(Knob::ddp_bucket_size, 7, Origin::kCaller);
  EXPECT_EQ(WriteForTarget(config, Bridge()).Get(Knob::bucket_size), Value(7));
}

}  // namespace
}  // namespace flightplan
