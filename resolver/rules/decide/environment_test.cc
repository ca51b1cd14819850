#include <gtest/gtest.h>

#include "resolver/plan/cpu_binding.h"
#include "resolver/plan/stack.h"
#include "resolver/rules/decide/decide_test_util.h"

namespace flightplan {
namespace {

TEST(Environment, ConnectionsFollowWhatNeedsQueues) {
  auto connections = [](const NormalizedIntent& intent) { return Plan(intent).env.at("CUDA_DEVICE_MAX_CONNECTIONS"); };
  EXPECT_EQ(connections(Intent("deepseek-v3", "h100", 1024, {.tp = 2, .pp = 8, .vpp = 4, .ep = 64}, 8192)), "1");
  EXPECT_EQ(connections(Intent("qwen3-30b-a3b", "h100", 16, {.ep = 16}, 1024)), "32");
  EXPECT_EQ(connections(Intent("qwen3-30b-a3b", "b200", 8, {.tp = 2, .ep = 8}, 512)), "32");
  NormalizedIntent intent = Intent("qwen3-30b-a3b", "h100", 16, {.ep = 16}, 1024);
  intent.env.vars["CUDA_DEVICE_MAX_CONNECTIONS"] = "8";
  EXPECT_EQ(connections(intent), "8");
}

TEST(Environment, ExpertsOfTheOpFuserHaveTheirKernels) {
  NormalizedIntent intent = Intent("qwen3-30b-a3b", "h100", 16, {.ep = 16}, 1024);
  EXPECT_EQ(Plan(intent).env.count("NVTE_CUTEDSL_FUSED_GROUPED_MLP"), 0u);
  Pin(intent, Knob::use_transformer_engine_op_fuser, true);
  EXPECT_EQ(Plan(intent).env.at("NVTE_CUTEDSL_FUSED_GROUPED_MLP"), "1");
}

// The engine gets what the launch exports, and refuses it.
TEST(Environment, SegmentsDoNotExpandBesideARolloutEngine) {
  NormalizedIntent intent = Intent("qwen3-30b-a3b", "h100", 16, {.ep = 16}, 1024);
  EXPECT_EQ(Plan(intent).env.at("PYTORCH_CUDA_ALLOC_CONF"), "expandable_segments:True");
  for (const char* trainer : {"verl", "nemo-rl", "slime", "miles", "vime"}) {
    ASSERT_NE(FindStack(trainer), nullptr) << trainer;
    intent.env.target = FindStack(trainer)->target;
    EXPECT_EQ(Plan(intent).env.count("PYTORCH_CUDA_ALLOC_CONF"), 0U) << trainer;
  }
}

TEST(Environment, RanksStayBesideTheirGpus) {
  const auto binding = [](const DecidedPlan& plan) -> const Decision* {
    for (const Decision& decision : plan.decisions) {
      if (decision.env_var == kNumaBindingName) return &decision;
    }
    return nullptr;
  };
  NormalizedIntent intent = Intent("qwen3-30b-a3b", "h100-sxm", 16, {.ep = 8}, 64);
  const DecidedPlan bound = Plan(intent);
  ASSERT_NE(binding(bound), nullptr);
  EXPECT_EQ(binding(bound)->value, Value("node"));
  EXPECT_TRUE(Cites(binding(bound), "executors.py"));
  EXPECT_EQ(bound.env.count(kNumaBindingName), 0u);  // nothing to export
  EXPECT_TRUE(bound.findings.empty());
  intent.env.torch = Version::Parse("2.8.0");
  EXPECT_EQ(binding(Plan(intent)), nullptr);
}

TEST(Environment, TheBindingOfATorchThatNobodyStatedIsSaidToRestOnIt) {
  NormalizedIntent intent = Intent("qwen3-30b-a3b", "h100-sxm", 16, {.ep = 8}, 64);
  intent.env.torch.reset();
  intent.env.torch_stated = false;
  const DecidedPlan plan = Plan(intent);
  ASSERT_EQ(plan.findings.size(), 1u);
  EXPECT_EQ(plan.findings[0].rule_id, "launch.numa-binding");
  EXPECT_EQ(plan.findings[0].severity, Severity::kInfo);
  intent.env.gpus_per_node = 1;  // one rank a node is bound to nothing
  EXPECT_TRUE(Plan(intent).findings.empty());
}

}  // namespace
}  // namespace flightplan
