#include <gtest/gtest.h>

#include <algorithm>

#include "resolver/plan/stack.h"
#include "resolver/rules/decide/decide_test_util.h"

namespace flightplan {
namespace {

TEST(CudaGraphs, ScopedForDroplessExpertsAndNotInBringUp) {
  NormalizedIntent intent = Intent("qwen3-30b-a3b", "gb200", 8, {.ep = 8, .mbs = 2}, 512);
  const DecidedPlan plan = Plan(intent);
  EXPECT_EQ(plan.config.Get(Knob::cuda_graph_impl).text(), "transformer_engine");
  EXPECT_EQ(plan.config.Get(Knob::cuda_graph_modules), Value(Value::List{"attn", "moe_router", "moe_preprocess"}));
  EXPECT_TRUE(On(plan, Knob::te_rng_tracker));
  intent.stage = Stage::kBringUp;
  const DecidedPlan bring_up = Plan(intent);
  EXPECT_EQ(bring_up.config.Get(Knob::cuda_graph_impl).text(), "none");
  EXPECT_EQ(Dispatcher(bring_up), "alltoall");
  EXPECT_FALSE(On(bring_up, Knob::overlap_grad_reduce));
}

TEST(CudaGraphs, PipelineOnFastX86HostsIsLeftToAnAb) {
  const Layout layout{.pp = 8, .ep = 8};
  const DecidedPlan x86 = Plan(Intent("qwen3-235b-a22b", "b200-sxm", 256, layout, 8192));
  const Decision* const graphs = Find(x86, Knob::cuda_graph_impl);
  ASSERT_NE(graphs, nullptr);
  EXPECT_EQ(graphs->value.text(), "none");
  EXPECT_TRUE(graphs->needs_ab);
  const auto suggested = [](const AbSuggestion& ab) { return ab.knob == Knob::cuda_graph_impl; };
  EXPECT_EQ(std::count_if(x86.ab_suggestions.begin(), x86.ab_suggestions.end(), suggested), 1);
  const DecidedPlan grace = Plan(Intent("qwen3-235b-a22b", "gb200-nvl72", 256, layout, 8192));
  EXPECT_EQ(grace.config.Get(Knob::cuda_graph_impl).text(), "transformer_engine");
  NormalizedIntent said = Intent("qwen3-235b-a22b", "b200-sxm", 256, layout, 8192);
  for (const HostCpuClass host : {HostCpuClass::kArm, HostCpuClass::kX86Slow}) {
    said.host_cpu = host;
    EXPECT_EQ(Plan(said).config.Get(Knob::cuda_graph_impl).text(), "transformer_engine");
  }
  said.host_cpu = HostCpuClass::kX86Fast;
  EXPECT_EQ(Plan(said).config.Get(Knob::cuda_graph_impl).text(), "none");
  const DecidedPlan one_stage = Plan(Intent("qwen3-30b-a3b", "b200-sxm", 8, {.ep = 8}, 512));
  EXPECT_EQ(one_stage.config.Get(Knob::cuda_graph_impl).text(), "transformer_engine");
}

TEST(CudaGraphs, FullIterationOfAPipelineNeedsVirtualStages) {
  NormalizedIntent intent = Intent("qwen3-235b-a22b", "gb200-nvl72", 256, {.pp = 8, .vpp = 3, .ep = 32}, 8192);
  intent.workload.precision = Precision::kMxfp8;
  intent.workload.objective = Objective::kBenchmark;
  intent.env.capabilities.insert("paged_stash");
  Pin(intent, Knob::pipeline_model_parallel_layout, Value("Et*3|(tttt|)*22tttL"));
  const DecidedPlan staged = Plan(intent);
  EXPECT_EQ(staged.config.Get(Knob::cuda_graph_impl).text(), "full_iteration");
  EXPECT_TRUE(staged.config.Get(Knob::overlap_moe_expert_parallel_comm).truthy());
  intent.pins.clear();
  intent.layout.virtual_pipeline_model_parallel_size = 1;
  EXPECT_NE(Plan(intent).config.Get(Knob::cuda_graph_impl).text(), "full_iteration");
}

TEST(CudaGraphs, FullIterationWasAScopeBeforeItWasAnImplementation) {
  NormalizedIntent intent = Intent("llama-3.1-8b", "b200-sxm", 8, {.mbs = 2}, 128);
  intent.workload.objective = Objective::kBenchmark;
  EXPECT_EQ(Plan(intent).config.Get(Knob::cuda_graph_impl).text(), "full_iteration");
  intent.env.bridge_release = 4;
  intent.env.core_release = StackOf(intent.env).core_release(4);
  const DecidedPlan older = Plan(intent);
  EXPECT_EQ(older.config.Get(Knob::cuda_graph_impl).text(), "local");
  EXPECT_EQ(older.config.Get(Knob::cuda_graph_scope), Value(Value::List{"full_iteration"}));
  EXPECT_EQ(older.config.Get(Knob::check_for_nan_in_loss), Value(false));
}

// What packs its sequences has none, and what is decided needs no A/B.
TEST(CudaGraphs, NoneWhereSequencesArePacked) {
  NormalizedIntent intent = Intent("qwen3-30b-a3b", "h100-sxm", 16, {.ep = 8}, 128);
  intent.env.target = FindStack("ms-swift")->target;
  intent.env.core_release = FindStack("ms-swift")->core_release(kMain);
  const DecidedPlan plan = Plan(intent);
  const Decision* const graphs = Find(plan, Knob::cuda_graph_impl);
  ASSERT_NE(graphs, nullptr);
  EXPECT_EQ(graphs->value.text(), "none");
  EXPECT_FALSE(graphs->needs_ab);
  for (const AbSuggestion& ab : plan.ab_suggestions) EXPECT_NE(ab.knob, Knob::cuda_graph_impl);
}

// Core 0.15 refuses them beside expandable segments, and knows one word of scope.
TEST(CudaGraphs, OfCore15GoWithoutExpandableSegments) {
  NormalizedIntent intent = Intent("qwen3-30b-a3b", "h200-sxm", 16, {.ep = 8}, 128);
  intent.env.target = FindStack("megatron-lm")->target;
  intent.env.core_release = 15;
  const DecidedPlan plan = Plan(intent);
  EXPECT_EQ(plan.config.Get(Knob::cuda_graph_impl).text(), "none");
  EXPECT_EQ(plan.env.at("PYTORCH_CUDA_ALLOC_CONF"), "expandable_segments:True");
  Pin(intent, Knob::cuda_graph_impl, "transformer_engine");
  const DecidedPlan asked = Plan(intent);
  EXPECT_EQ(asked.config.Get(Knob::cuda_graph_scope), Value("attn"));
  EXPECT_EQ(asked.env.count("PYTORCH_CUDA_ALLOC_CONF"), 0U);
}

TEST(CudaGraphs, FullIterationBringsItsCompanions) {
  NormalizedIntent intent = Intent("qwen3-30b-a3b", "gb200", 8, {.ep = 8, .mbs = 4}, 512);
  intent.workload.precision = Precision::kMxfp8;
  intent.workload.objective = Objective::kBenchmark;
  EXPECT_EQ(Plan(intent).config.Get(Knob::cuda_graph_impl).text(), "transformer_engine");  // no paged stash installed
  intent.env.capabilities.insert("paged_stash");
  const DecidedPlan plan = Plan(intent);
  EXPECT_EQ(plan.config.Get(Knob::cuda_graph_impl).text(), "full_iteration");
  EXPECT_TRUE(On(plan, Knob::moe_paged_stash));
  EXPECT_FALSE(On(plan, Knob::check_for_nan_in_loss));
  EXPECT_TRUE(On(plan, Knob::overlap_moe_expert_parallel_comm));
  EXPECT_TRUE(On(plan, Knob::delay_wgrad_compute));
  EXPECT_EQ(plan.env.at("TORCH_NCCL_AVOID_RECORD_STREAMS"), "0");
  intent.env.te = Version::Parse("2.13.0");  // without the fused grouped MLP
  EXPECT_EQ(Plan(intent).config.Get(Knob::cuda_graph_impl).text(), "transformer_engine");
}

}  // namespace
}  // namespace flightplan
