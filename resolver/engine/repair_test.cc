#include "resolver/engine/repair.h"

#include <gtest/gtest.h>

#include "resolver/catalog/defaults.h"

namespace flightplan {
namespace {

using K = Knob;

Environment Core() {
  Environment env;
  env.target = Target::kCore;
  env.te = Version::Parse("2.12.0");
  env.torch = Version::Parse("2.9.0");
  env.cc_major = 9;
  return env;
}

Config Small(const Environment& env) {
  Config config = DefaultsFor(env.target, env.core_release, env.bridge_release, env.mla);
  config.Set(K::num_layers, 8, Origin::kCaller);
  config.Set(K::hidden_size, 1024, Origin::kCaller);
  config.Set(K::num_attention_heads, 16, Origin::kCaller);
  return config;
}

size_t ErrorCount(const RunResult& run) {
  size_t count = 0;
  for (const Finding& finding : run.findings) count += finding.severity == Severity::kError ? 1 : 0;
  return count;
}

TEST(FindRepair, LeavesALegalConfigAlone) {
  const Environment env = Core();
  const Repair repair = FindRepair(Small(env), env);
  EXPECT_TRUE(repair.steps.empty());
  EXPECT_TRUE(repair.left.empty());
}

TEST(FindRepair, AppliesFixesUntilNoErrorIsLeft) {
  Environment env = Core();
  Config config = Small(env);
  config.Set(K::recompute_granularity, "full", Origin::kCaller);    // needs a method
  config.Set(K::moe_shared_expert_overlap, true, Origin::kCaller);  // needs shared experts and an all-to-all
  config.Set(K::sequence_parallel, true, Origin::kCaller);          // needs TP
  ASSERT_GT(ErrorCount(flightplan::Run(config, env)), 0u);
  const Repair repair = FindRepair(config, env);
  EXPECT_TRUE(repair.left.empty()) << repair.left[0].rule_id;
  EXPECT_FALSE(repair.steps.empty());
  ApplyPatch(repair.patch, &config, &env);
  EXPECT_EQ(ErrorCount(flightplan::Run(config, env)), 0u);
}

TEST(FindRepair, TouchesConvergenceOnlyWhereAllowed) {
  const Environment env = Core();
  Config config = Small(env);
  config.Set(K::recompute_granularity, "full", Origin::kCaller);
  for (bool allow : {false, true}) {
    for (const RepairStep& step : FindRepair(config, env, {allow}).steps) {
      EXPECT_TRUE(allow || !ChangesConvergence(step.patch)) << step.rule_id;
    }
  }
  EXPECT_TRUE(ChangesConvergence({{K::global_batch_size, "", Value(8)}}));
  EXPECT_FALSE(ChangesConvergence({{K::recompute_method, "", Value("uniform")}, {K{}, "NCCL_ALGO", Value("Ring")}}));
}

TEST(FindRepair, SameInputSameSteps) {
  const Environment env = Core();
  Config config = Small(env);
  config.Set(K::overlap_moe_expert_parallel_comm, true, Origin::kCaller);
  config.Set(K::recompute_granularity, "full", Origin::kCaller);
  const Repair a = FindRepair(config, env), b = FindRepair(config, env);
  ASSERT_EQ(a.steps.size(), b.steps.size());
  for (size_t i = 0; i < a.steps.size(); ++i) EXPECT_EQ(a.steps[i].rule_id, b.steps[i].rule_id);
}

}  // namespace
}  // namespace flightplan
