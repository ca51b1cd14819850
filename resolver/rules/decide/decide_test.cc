#include "resolver/rules/decide/decide.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "resolver/derive/fp8_recipes.h"
#include "resolver/plan/stack.h"
#include "resolver/rules/decide/decide_test_util.h"

namespace flightplan {
namespace {

TEST(Sizes, ExpertsWithoutEpAreCutAsDenseWeightsBeforeCore19) {
  const auto split = [](int core, int64_t ep) {
    NormalizedIntent intent = Intent("qwen3-30b-a3b", "h100", 16, {.tp = 2, .ep = ep}, 1024);
    intent.env.core_release = core;
    return Plan(intent).config.Get(Knob::expert_tensor_parallel_size).integer();
  };
  EXPECT_EQ(split(18, 1), 2);
  EXPECT_EQ(split(18, 2), 1);
  EXPECT_EQ(split(19, 1), 1);
}

TEST(Recompute, OnlyWhereTheLayoutDoesNotFit) {
  EXPECT_TRUE(
      Plan(Intent("qwen3-30b-a3b", "h100", 16, {.ep = 16}, 1024)).config.Get(Knob::recompute_granularity).is_none());
  const DecidedPlan plan = Plan(Intent("deepseek-v3", "h100", 1024, {.tp = 2, .pp = 8, .vpp = 4, .ep = 64}, 8192));
  EXPECT_EQ(plan.config.Get(Knob::recompute_granularity).text(), "selective");
  EXPECT_EQ(plan.config.Get(Knob::recompute_modules).list()[0].text(), "mla_up_proj");
}

// Where it would fit without, too: but not without a pipeline, not of adapters alone, and not beside the caller's word.
TEST(Recompute, PipelinesOfLatentAttentionComputeItsUpProjectionsAgain) {
  NormalizedIntent intent = Intent("deepseek-v3", "gb300", 256, {.pp = 4, .vpp = 4, .ep = 64}, 4096);
  const DecidedPlan plan = Plan(intent);
  EXPECT_EQ(plan.config.Get(Knob::recompute_granularity).text(), "selective");
  EXPECT_EQ(plan.config.Get(Knob::recompute_modules), Value(Value::List{"mla_up_proj"}));
  const Decision* const decision = Find(plan, Knob::recompute_granularity);
  ASSERT_NE(decision, nullptr);
  EXPECT_TRUE(IsSettled(*decision));
  EXPECT_TRUE(Cites(decision, "Kimi K2"));
  const NormalizedIntent unpipelined = Intent("moonlight-16b-a3b", "h100", 8, {.ep = 8}, 256);
  EXPECT_TRUE(Plan(unpipelined).config.Get(Knob::recompute_granularity).is_none());
  NormalizedIntent adapters = intent;
  Pin(adapters, Knob::peft_scheme, "lora");
  EXPECT_TRUE(Plan(adapters).config.Get(Knob::recompute_granularity).is_none());
  intent.stage = Stage::kBringUp;
  EXPECT_TRUE(Plan(intent).config.Get(Knob::recompute_granularity).is_none());
  intent.stage = Stage::kTune;
  Pin(intent, Knob::recompute_granularity, Value());
  EXPECT_TRUE(Plan(intent).config.Get(Knob::recompute_granularity).is_none());
}

// Upstream refuses them in FP8 below Transformer Engine 2.6 (recompute.fp8-te-2.6).
TEST(Recompute, LeavesOutOfFp8WhatAnOldTransformerEngineRefuses) {
  NormalizedIntent intent = Intent("qwen3-30b-a3b", "h100", 64, {.ep = 16}, 512);
  intent.workload.seq_length = 8192;
  intent.workload.precision = Precision::kFp8Tensorwise;
  EXPECT_EQ(Plan(intent).config.Get(Knob::recompute_modules), Value(Value::List{"moe_act", "layernorm"}));
  intent.env.te = Version::Parse("2.4.0");
  EXPECT_EQ(Plan(intent).config.Get(Knob::recompute_modules), Value(Value::List{"moe"}));
}

// What a router's graphs or graphs of core 0.15 refuse beside them is not decided; nor are layers as a whole.
TEST(Recompute, LeavesOutWhatGivenGraphsRefuse) {
  NormalizedIntent intent = Intent("qwen3-30b-a3b", "h100", 64, {.ep = 16}, 512);
  intent.workload.seq_length = 8192;
  intent.workload.precision = Precision::kFp8Delayed;
  EXPECT_EQ(Plan(intent).config.Get(Knob::recompute_modules), Value(Value::List{"moe"}));
  Pin(intent, Knob::cuda_graph_impl, "transformer_engine");
  NormalizedIntent attention = intent;
  Pin(attention, Knob::cuda_graph_modules, Value(Value::List{"attn"}));
  EXPECT_EQ(Plan(attention).config.Get(Knob::recompute_modules), Value(Value::List{"moe"}));
  Pin(intent, Knob::cuda_graph_modules, Value(Value::List{"moe_router", "moe_preprocess"}));
  const DecidedPlan plan = Plan(intent);
  EXPECT_TRUE(plan.config.Get(Knob::recompute_granularity).is_none());
  EXPECT_TRUE(plan.config.Get(Knob::recompute_modules).is_none() ||
              plan.config.origin(Knob::recompute_modules) == Origin::kDefault);
}

// Every recipe that can be asked for, in the format that it is used in.
TEST(Precision, IsSpelledByTheTableOfRecipes) {
  NormalizedIntent intent = Intent("qwen3-30b-a3b", "gb200", 16, {.ep = 8}, 512);
  for (const Fp8Recipe& recipe : kFp8Recipes) {
    if (!recipe.precision.has_value()) continue;
    intent.workload.precision = *recipe.precision;
    const DecidedPlan plan = Plan(intent);
    EXPECT_EQ(plan.config.Get(Knob::fp8_recipe).text(), recipe.name);
    EXPECT_EQ(plan.config.Get(Knob::fp8).text(), recipe.name == "mxfp8" ? "e4m3" : "hybrid") << recipe.name;
  }
}

TEST(ShardedParallel, FsdpShardsUnlessSaidOtherwise) {
  NormalizedIntent intent = Intent("llama-3.1-70b", "gb200", 64, {}, 256);
  EXPECT_EQ(Find(Plan(intent), Knob::data_parallel_sharding_strategy), nullptr);
  Pin(intent, Knob::use_megatron_fsdp, true);
  EXPECT_EQ(Plan(intent).config.Get(Knob::data_parallel_sharding_strategy).text(), "optim_grads_params");
  Pin(intent, Knob::data_parallel_sharding_strategy, "optim");
  EXPECT_EQ(Plan(intent).config.Get(Knob::data_parallel_sharding_strategy).text(), "optim");
}

// The command line's own default is another format, which it refuses beside FSDP.
TEST(ShardedParallel, TheCheckpointsFormatGoesWithFsdp) {
  NormalizedIntent intent = Intent("llama-3.1-70b", "h100", 64, {}, 256);
  intent.env.target = Target::kMegatronLm;
  EXPECT_EQ(Find(Plan(intent), Knob::ckpt_format), nullptr);
  NormalizedIntent torch = intent;
  Pin(torch, Knob::use_torch_fsdp2, true);
  EXPECT_EQ(Plan(torch).config.Get(Knob::gradient_accumulation_fusion), Value(false));
  Pin(intent, Knob::use_megatron_fsdp, true);
  EXPECT_EQ(Plan(intent).config.Get(Knob::ckpt_format).text(), "fsdp_dtensor");
  Pin(intent, Knob::ckpt_format, "torch_dist");
  EXPECT_EQ(Plan(intent).config.Get(Knob::ckpt_format).text(), "torch_dist");
}

TEST(ContextParallel, ExchangesAsTheAttentionAndTheFabricAllow) {
  NormalizedIntent intent = Intent("deepseek-v3", "h100", 256, {.pp = 8, .vpp = 4, .cp = 32, .ep = 32}, 32);
  intent.workload.seq_length = 131'072;
  const DecidedPlan far = Plan(intent);
  EXPECT_EQ(far.config.Get(Knob::cp_comm_type).ToText(), Value(Value::List{"a2a+p2p"}).ToText());
  EXPECT_EQ(far.config.Get(Knob::hierarchical_context_parallel_sizes).ToText(),
            Value(Value::List{Value(8), Value(4)}).ToText());
  Pin(intent, Knob::cp_comm_type, "p2p");
  const DecidedPlan pinned = Plan(intent);
  EXPECT_EQ(pinned.config.Get(Knob::cp_comm_type).text(), "p2p");
  EXPECT_TRUE(pinned.config.Get(Knob::hierarchical_context_parallel_sizes).is_none());
  const DecidedPlan windows = Plan(Intent("gpt-oss-20b", "h100", 8, {.cp = 2, .ep = 4}, 64));
  EXPECT_EQ(windows.config.Get(Knob::cp_comm_type).ToText(), Value(Value::List{"a2a"}).ToText());
}

TEST(Pipeline, UnevenLayersGetABalancedLayout) {
  const DecidedPlan plan = Plan(Intent("deepseek-v3", "h100", 1024, {.tp = 2, .pp = 8, .vpp = 4, .ep = 64}, 8192));
  std::string expected = "Et";
  for (int i = 0; i < 30; ++i) expected += "|tt";
  EXPECT_EQ(plan.config.Get(Knob::pipeline_model_parallel_layout).text(), expected + "|mL");
  EXPECT_TRUE(Plan(Intent("qwen3-30b-a3b", "h100", 64, {.pp = 4, .ep = 8}, 1024))
                  .config.Get(Knob::pipeline_model_parallel_layout)
                  .is_none());
}

TEST(Pipeline, WhereMsSwiftPredictsThereIsADecoderLayer) {
  NormalizedIntent intent = Intent("deepseek-v3", "h100", 1024, {.tp = 2, .pp = 8, .vpp = 4, .ep = 64}, 8192);
  ASSERT_NE(FindStack("ms-swift"), nullptr);
  intent.env.target = FindStack("ms-swift")->target;
  std::string expected = "Et";
  for (int i = 0; i < 29; ++i) expected += "|tt";
  EXPECT_EQ(Plan(intent).config.Get(Knob::pipeline_model_parallel_layout).text(), expected + "|t|tmL");
}

// The layout that is decided, said by the caller, changes nothing else.
TEST(Pipeline, TheDecidedLayoutGivenDecidesTheSame) {
  int tight = 0;
  for (const char* gpu : {"h100", "b200", "gb200"}) {
    for (const Layout& layout :
         {Layout{.pp = 4, .vpp = 4, .ep = 64}, Layout{.pp = 8, .vpp = 2, .ep = 64}, Layout{.pp = 8, .vpp = 4, .ep = 32},
          Layout{.tp = 2, .pp = 8, .vpp = 4, .ep = 64}, Layout{.pp = 16, .vpp = 2, .ep = 64}}) {
      NormalizedIntent intent = Intent("deepseek-v3", gpu, 1024, layout, 8192);
      const DecidedPlan open = Plan(intent);
      const Value& split = open.config.Get(Knob::pipeline_model_parallel_layout);
      ASSERT_FALSE(split.is_none());
      intent.layout.pipeline_model_parallel_layout = split.ToText();
      const DecidedPlan given = Plan(intent);
      for (Knob knob : {Knob::cuda_graph_impl, Knob::recompute_granularity, Knob::recompute_modules,
                        Knob::overlap_moe_expert_parallel_comm, Knob::optimizer_cpu_offload}) {
        EXPECT_EQ(given.config.Get(knob), open.config.Get(knob)) << gpu << " PP" << layout.pp << " " << Name(knob);
      }
      tight += open.config.Get(Knob::recompute_granularity).is_none() ? 0 : 1;
    }
  }
  EXPECT_GT(tight, 3);  // near the limit of the memory, where it would show
}

// An all-reduce has layers to run beside, too; but a container's overlap does nothing without the distributed
// optimizer.
TEST(DataParallel, GradientsAreReducedBehindLayersWhoeverHoldsTheState) {
  NormalizedIntent intent = Intent("llama3-8b", "h100", 16, {}, 256);
  intent.env.target = Target::kMegatronLm;
  Pin(intent, Knob::use_distributed_optimizer, false);
  const auto overlaps = [&] { return Plan(intent).config.Get(Knob::overlap_grad_reduce).truthy(); };
  EXPECT_TRUE(overlaps());
  EXPECT_FALSE(Plan(intent).config.Get(Knob::overlap_param_gather).truthy());
  EXPECT_EQ(Find(Plan(intent), Knob::overlap_grad_reduce)->reason,
            "gradients are summed over 16 ranks while layers compute");
  Pin(intent, Knob::optimizer, "muon");
  EXPECT_FALSE(overlaps());
  intent.pins.pop_back();
  intent.env.target = Target::kMegatronBridge;
  EXPECT_FALSE(overlaps());
  intent = Intent("llama3-8b", "h100", 1, {}, 256);
  EXPECT_EQ(Find(Plan(intent), Knob::overlap_grad_reduce)->reason,
            "one rank holds each parameter: no gradients to reduce");
}

// Megatron-Core's own operators form every score of sparse attention; where its kernels run they are taken.
TEST(SparseAttention, TakesKernelsOfItsOwn) {
  const auto chosen = [](const NormalizedIntent& intent) {
    return std::string(Plan(intent).config.Get(Knob::dsa_kernel_backend).text());
  };
  const Layout layout = {.pp = 8, .ep = 32};
  NormalizedIntent intent = Intent("glm-5", "h100-sxm", 512, layout, 1024);
  EXPECT_EQ(chosen(intent), "cudnn");
  intent.env.capabilities.clear();
  EXPECT_EQ(chosen(intent), "none") << "nothing is installed";
  EXPECT_EQ(chosen(Intent("glm-5", "a100-sxm-80gb", 512, layout, 1024)), "none");
}

TEST(Decide, FusesSquaredReluOfExpertsThatHaveNoBias) {
  const auto fused = [](const NormalizedIntent& intent) {
    return Plan(intent).config.Get(Knob::use_fused_weighted_squared_relu).truthy();
  };
  NormalizedIntent intent = Intent("nemotron-3-nano-30b-a3b", "h100-sxm", 16, {.ep = 8}, 512);
  EXPECT_TRUE(fused(intent));
  intent.stage = Stage::kBringUp;
  EXPECT_FALSE(fused(intent));
  EXPECT_FALSE(fused(Intent("qwen3-30b-a3b", "h100-sxm", 16, {.ep = 8}, 512)));
}

TEST(Decide, NeverChangesAPin) {
  const std::pair<Knob, Value> pins[] = {
      {Knob::moe_token_dispatcher_type, "allgather"},
      {Knob::overlap_moe_expert_parallel_comm, false},
      {Knob::cuda_graph_impl, "none"},
      {Knob::recompute_granularity, "full"},
      {Knob::tp_comm_overlap, true},
      {Knob::sequence_parallel, false},
      {Knob::moe_router_dtype, "fp64"},
      {Knob::moe_grouped_gemm, false},
      {Knob::use_distributed_optimizer, false},
      {Knob::moe_permute_fusion, false},
      {Knob::cross_entropy_loss_fusion, false},
      {Knob::manual_gc, false},
  };
  for (const auto& [knob, value] : pins) {
    NormalizedIntent intent = Intent("deepseek-v3", "h100", 1024, {.tp = 2, .pp = 8, .vpp = 4, .ep = 64}, 8192);
    Pin(intent, knob, value);
    const DecidedPlan plan = Plan(intent);
    EXPECT_EQ(plan.config.Get(knob), value) << Name(knob);
    EXPECT_EQ(plan.config.origin(knob), Origin::kCaller) << Name(knob);
  }
}

TEST(Decide, EveryDecidedKnobHasOneDecisionWithAReason) {
  for (const ModelSpec& model : TheCatalog().models()) {
    const DecidedPlan plan =
        Plan(Intent(model.name, "h100", 64, {.tp = 2, .pp = 2, .ep = model.is_moe() ? 8 : 1}, 512));
    int decided = 0;
    for (int i = 0; i < kKnobCount; ++i)
      decided += plan.config.origin(static_cast<Knob>(i)) == Origin::kDecided ? 1 : 0;
    int recorded = 0;
    for (const Decision& decision : plan.decisions) {
      EXPECT_FALSE(decision.reason.empty()) << model.name << " " << decision.rule_id;
      if (decision.env_var.empty() && decision.basis != Basis::kCaller) ++recorded;
    }
    EXPECT_EQ(decided, recorded) << model.name;
  }
}

TEST(Decide, SurvivesAbsurdSizes) {
  for (const int64_t huge : {int64_t{0}, int64_t{-5}, int64_t{1} << 40, int64_t{1000000000000000000}}) {
    NormalizedIntent intent = Intent("deepseek-v3", "h100", huge,
                                     {.tp = huge, .pp = huge, .vpp = huge, .cp = huge, .ep = huge, .mbs = huge}, huge);
    intent.workload.seq_length = huge;
    intent.model.num_moe_experts = huge;
    intent.model.num_layers = huge > 0 ? huge : 1;
    intent.model.computed.reset();
    Plan(intent);
  }
}

}  // namespace
}  // namespace flightplan
