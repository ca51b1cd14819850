#include "resolver/pipeline/memory_fixes.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/base/bytes.h"
#include "resolver/plan/stack.h"
#include "tests/support/answers.h"
#include "tests/support/requests.h"

namespace flightplan {
namespace {

using testing::Apply;
using testing::FindEntry;
using testing::FindFinding;
using testing::MostBytes;
using testing::Pin;
using testing::QwenOnSixteen;
using testing::Resolved;
using testing::SetSizes;
using testing::StepUs;
using testing::Training;

// What is computed again is as little as frees enough, and the answer to the fixed question says so.
TEST(MemoryFix, IsTheCheapestThatHolds) {
  v1::ResolveConfigRequest request = Training("qwen3-30b-a3b", "h100-sxm", 16, 4096, 128);
  request.mutable_workload()->set_precision("bf16");
  SetSizes({.tp = 1, .pp = 1, .ep = 16}, &request);
  Pin("overlap_moe_expert_parallel_comm", false, &request);
  Pin("fine_grained_activation_offloading", false, &request);
  const v1::ResolveConfigResponse response = Resolved(request);
  ASSERT_EQ(response.estimate().fit(), v1::FIT_VERDICT_MARGINAL);
  const v1::Finding* const lacks = FindFinding(response.findings(), "fit.memory-marginal");
  ASSERT_NE(lacks, nullptr);
  ASSERT_EQ(lacks->fixes_size(), 1);
  EXPECT_NE(lacks->needs().find("; with the fix: step +"), std::string::npos) << lacks->needs();
  for (const v1::KnobSetting& setting : lacks->fixes(0).knobs()) {
    const bool granularity = setting.name() == "recompute_granularity";
    EXPECT_TRUE(!granularity || setting.value().string_value() == "selective") << setting.ShortDebugString();
  }
  Apply(lacks->fixes(0), &request);
  const v1::ResolveConfigResponse fixed = Resolved(request);
  EXPECT_TRUE(fixed.will_run());
  EXPECT_EQ(fixed.estimate().fit(), v1::FIT_VERDICT_FITS);
}

// Sparse attention without kernels of its own has every score as a tensor.
TEST(MemoryFix, IsKernelsOfSparseAttention) {
  const auto offered = [](Origin origin) {
    Config config;
    config.Set(Knob::experimental_attention_variant, Value("dsa"), Origin::kCaller);
    config.Set(Knob::dsa_kernel_backend, Value("none"), origin);
    for (const Patch& patch : MemoryFixesOf(config).execution) {
      if (patch.front().knob == Knob::dsa_kernel_backend) return patch.front().value.text() == "cudnn";
    }
    return false;
  };
  EXPECT_TRUE(offered(Origin::kDefault));
  EXPECT_FALSE(offered(Origin::kCaller)) << "the caller's word stands";
}

// Where nobody says how memory is allocated; an engine on the same GPUs would stop on it.
TEST(MemoryFix, IsTheAllocatorsOwnFirst) {
  const Config config;
  Environment env;
  env.target = Target::kMegatronLm;
  const Patch fix = ExpandableSegments(config, env);
  ASSERT_EQ(fix.size(), 1U);
  EXPECT_EQ(fix[0].env_var, "PYTORCH_CUDA_ALLOC_CONF");
  Config graphed;
  graphed.Set(Knob::cuda_graph_impl, Value("transformer_engine"), Origin::kCaller);
  EXPECT_EQ(ExpandableSegments(graphed, env).size(), 2U) << "NCCL_GRAPH_REGISTER=0 goes with it";
  Environment said = env, trainer = env, old = env;
  said.vars["PYTORCH_CUDA_ALLOC_CONF"] = "max_split_size_mb:512";
  EXPECT_TRUE(ExpandableSegments(config, said).empty());
  trainer.target = FindStack("verl")->target;
  EXPECT_TRUE(ExpandableSegments(config, trainer).empty());
  trainer.engine_apart = true;
  EXPECT_EQ(ExpandableSegments(config, trainer).size(), 1U);
  old.core_release = 15;
  EXPECT_TRUE(ExpandableSegments(graphed, old).empty());
}

// Two copies of MXFP8 parameters do not fit, one does. Plans for core 0.18 do not gather on their own.
TEST(MemoryFix, GathersMxfp8ParametersWhereTheirCopiesDoNotFit) {
  v1::ResolveConfigRequest request = Training("mixtral-8x22b", "gb300-nvl72", 256, 4096, 2048);
  request.mutable_workload()->set_precision("mxfp8");
  request.mutable_target()->set_version("0.18");
  SetSizes({.tp = 1, .pp = 2, .ep = 2}, &request);
  request.mutable_layout()->set_context_parallel_size(1);
  request.mutable_layout()->set_micro_batch_size(2);
  const v1::ResolveConfigResponse response = Resolved(request);
  ASSERT_EQ(response.estimate().fit(), v1::FIT_VERDICT_DOES_NOT_FIT);
  const v1::Finding* const lacks = FindFinding(response.findings(), "fit.static-memory");
  ASSERT_NE(lacks, nullptr);
  ASSERT_GT(lacks->fixes_size(), 0);
  EXPECT_EQ(lacks->fixes(0).knobs(0).name(), "fp8_param_gather");
  Apply(lacks->fixes(0), &request);
  const v1::ResolveConfigResponse fixed = Resolved(request);
  EXPECT_TRUE(fixed.will_run());
  EXPECT_NE(fixed.estimate().fit(), v1::FIT_VERDICT_DOES_NOT_FIT);
}

// Marginal: 70 B on eight GPUs whose host is near.
v1::ResolveConfigRequest TightQuestion() {
  v1::ResolveConfigRequest request = Training("llama-3.1-70b", "gb200-nvl72", 8, 8064, 64);
  SetSizes({.tp = 8, .pp = 1}, &request);
  return request;
}

// Activations on the host cost what their copies slow down, and not nothing.
TEST(MemoryFix, PutsActivationsOnTheHostAtTheirPrice) {
  v1::ResolveConfigRequest request = TightQuestion();
  const v1::ResolveConfigResponse before = Resolved(request);
  const v1::Finding* const lacks = FindFinding(before.findings(), "fit.memory-marginal");
  ASSERT_NE(lacks, nullptr);
  ASSERT_EQ(lacks->fixes_size(), 1);
  EXPECT_EQ(lacks->fixes(0).knobs(0).name(), "fine_grained_activation_offloading");
  Apply(lacks->fixes(0), &request);
  const v1::ResolveConfigResponse after = Resolved(request);
  EXPECT_EQ(after.estimate().fit(), v1::FIT_VERDICT_FITS);
  EXPECT_GT(StepUs(after), 1.001 * StepUs(before));
}

// The native kernel of the loss holds a copy of the softmax more than the operators that it fuses.
TEST(MemoryFix, LeavesTheLossUnfusedWhereThatIsEnough) {
  v1::ResolveConfigRequest request = Training("llama-3.1-70b", "gb200-nvl72", 8, 7168, 64);
  SetSizes({.tp = 8, .pp = 1}, &request);
  const v1::ResolveConfigResponse before = Resolved(request);
  const v1::Finding* const lacks = FindFinding(before.findings(), "fit.memory-marginal");
  ASSERT_NE(lacks, nullptr);
  ASSERT_EQ(lacks->fixes_size(), 1);
  EXPECT_EQ(lacks->fixes(0).knobs(0).name(), "cross_entropy_loss_fusion");
  Apply(lacks->fixes(0), &request);
  EXPECT_EQ(Resolved(request).estimate().fit(), v1::FIT_VERDICT_FITS);
}

// Each way alone is dear: experts computed again cost a third of the step. Two together are not.
TEST(MemoryFix, IsTwoWaysTogetherWhereEachIsDear) {
  v1::ResolveConfigRequest request = QwenOnSixteen();
  SetSizes({.tp = 1, .pp = 1, .ep = 16}, &request);
  request.mutable_software()->set_te_version("2.17.1");
  for (const char* backend : {"deepep", "hybridep"})
    request.mutable_software()->mutable_dispatchers()->add_backends(backend);
  const v1::ResolveConfigResponse before = Resolved(request);
  const v1::Finding* const lacks = FindFinding(before.findings(), "fit.memory-marginal");
  ASSERT_NE(lacks, nullptr);
  ASSERT_EQ(lacks->fixes_size(), 1);
  Apply(lacks->fixes(0), &request);
  const v1::ResolveConfigResponse after = Resolved(request);
  EXPECT_EQ(after.estimate().fit(), v1::FIT_VERDICT_FITS);
  EXPECT_LT(StepUs(after), 1.2 * StepUs(before));
}

// A profile's step is that of the run as it is: a fix is not free because the profile says the same beside it.
TEST(MemoryFix, PromisesByForecastBesideAProfile) {
  v1::ResolveConfigRequest request = QwenOnSixteen();
  SetSizes({.tp = 1, .pp = 1, .ep = 16}, &request);
  request.mutable_software()->set_te_version("2.17.1");
  request.mutable_software()->mutable_dispatchers()->add_backends("hybridep");
  const auto promise = [&] {
    const v1::ResolveConfigResponse answer = Resolved(request);
    const v1::Finding* const lacks = FindFinding(answer.findings(), "fit.memory-marginal");
    return lacks == nullptr ? std::string() : lacks->needs();
  };
  const std::string without = promise();
  EXPECT_TRUE(absl::StrContains(without, "step +")) << without;
  request.mutable_profile()->set_step_time_us(4e6);
  EXPECT_FALSE(absl::StrContains(promise(), "step +0 %")) << promise();
}

// What a repair with room does is the fix that the finding offers, at the price that it says.
TEST(MemoryFix, IsDoneByARepairThatMayMakeRoom) {
  const v1::ResolveConfigRequest question = TightQuestion();
  v1::ValidateConfigRequest launch = testing::ScriptOf(question, Resolved(question));
  launch.set_repair(true);
  const v1::ValidateConfigResponse before = testing::Validated(launch);
  const v1::Finding* const tight = FindFinding(before.findings(), "fit.memory-marginal");
  ASSERT_NE(tight, nullptr);
  ASSERT_GT(tight->fixes_size(), 0);
  EXPECT_FALSE(before.has_repair());
  launch.set_repair_room(true);
  const v1::ValidateConfigResponse with = testing::Validated(launch);
  ASSERT_EQ(with.repair().steps_size(), 1);
  EXPECT_EQ(with.repair().steps(0).fix().ShortDebugString(), tight->fixes(0).ShortDebugString());
  launch.mutable_file()->set_text(with.repair().text());
  const v1::ValidateConfigResponse after = testing::Validated(launch);
  EXPECT_EQ(after.memory().fit(), v1::FIT_VERDICT_FITS);
  EXPECT_EQ(after.estimate().ShortDebugString(), with.repair().estimate().ShortDebugString());
  launch.set_view(v1::ANSWER_VIEW_VERDICT);
  EXPECT_FALSE(testing::Validated(launch).repair().has_estimate());
}

// What does not fit is tight after the first step: a repair with room takes another.
TEST(MemoryFix, OfARepairGoesOnToRoom) {
  v1::ResolveConfigRequest question = Training("qwen3-30b-a3b", "h100-sxm", 16, 4096, 1024);
  SetSizes({.tp = 1, .pp = 1, .ep = 16}, &question);
  question.mutable_layout()->set_micro_batch_size(2);
  v1::ValidateConfigRequest launch = testing::ScriptOf(question, Resolved(question));
  absl::StrReplaceAll({{"--micro-batch-size 2", "--micro-batch-size 4"}}, launch.mutable_file()->mutable_text());
  launch.set_repair(true);
  for (const bool room : {false, true}) {
    launch.set_repair_room(room);
    const v1::Repair repair = testing::Validated(launch).repair();
    ASSERT_EQ(repair.steps_size(), room ? 2 : 1) << repair.ShortDebugString();
    EXPECT_EQ(repair.steps(0).rule_id(), "fit.memory");
    EXPECT_EQ(repair.steps(repair.steps_size() - 1).rule_id(), room ? "fit.memory-marginal" : "fit.memory");
    EXPECT_EQ(repair.estimate().fit(), room ? v1::FIT_VERDICT_FITS : v1::FIT_VERDICT_MARGINAL);
    EXPECT_TRUE(repair.will_run());
  }
}

// Part of the optimizer on the host is one of the ways: here the least of it does, and no other is as short.
TEST(MemoryFix, MovesTheOptimizerWhereThatCostsLeast) {
  v1::ResolveConfigRequest request = TightQuestion();
  request.mutable_workload()->set_seq_length(8192);
  Pin("fine_grained_activation_offloading", false, &request);
  const v1::ResolveConfigResponse before = Resolved(request);
  ASSERT_EQ(before.estimate().fit(), v1::FIT_VERDICT_MARGINAL);
  const v1::Finding* const lacks = FindFinding(before.findings(), "fit.memory-marginal");
  ASSERT_NE(lacks, nullptr);
  ASSERT_EQ(lacks->fixes_size(), 1);
  EXPECT_EQ(lacks->fixes(0).knobs(0).name(), "optimizer_cpu_offload");
  Apply(lacks->fixes(0), &request);
  const v1::ResolveConfigResponse after = Resolved(request);
  EXPECT_EQ(after.estimate().fit(), v1::FIT_VERDICT_FITS);
}

// A second copy of the parameters, which plans for core 0.18 keep, goes; what is computed again stays, so that the room
// is the caller's.
TEST(MemoryFix, IsNotSpentOnOtherChoices) {
  v1::ResolveConfigRequest request = Training("deepseek-v3", "gb200-nvl72", 256, 4096, 2048);
  request.mutable_workload()->set_precision("mxfp8");
  SetSizes({.tp = 1, .pp = 8, .vpp = 2, .ep = 32}, &request);
  request.mutable_software()->mutable_dispatchers()->add_backends("hybridep");
  request.mutable_target()->set_version("0.18");
  const v1::ResolveConfigResponse before = Resolved(request);
  const v1::Finding* const copies = FindFinding(before.findings(), "opt.mxfp8-memory");
  ASSERT_NE(copies, nullptr);
  ASSERT_EQ(copies->fixes_size(), 1);
  Apply(copies->fixes(0), &request);
  const v1::ResolveConfigResponse after = Resolved(request);
  EXPECT_LT(MostBytes(after), MostBytes(before) - 4 * kGib) << copies->needs();
}

// Megatron's native kernel holds more than single operators do: where there is no room for that, they are dearer than
// the kernel, and cheaper than recompute.
TEST(MemoryFix, IsTakenAheadByALossByOperators) {
  v1::ResolveConfigRequest request = Training("qwen3-30b-a3b", "h100-sxm", 16, 4096, 128);
  SetSizes({.tp = 1, .pp = 1, .ep = 16}, &request);
  Pin("overlap_moe_expert_parallel_comm", false, &request);
  const v1::ResolveConfigResponse chosen = Resolved(request);
  const auto fuses = [](const v1::ResolveConfigResponse& answer) {
    const v1::ConfigEntry* const entry = FindEntry(answer.config(), "cross_entropy_loss_fusion");
    return entry != nullptr && entry->value().bool_value();
  };
  EXPECT_FALSE(fuses(chosen));
  Pin("cross_entropy_loss_fusion", true, &request);
  const v1::ResolveConfigResponse given = Resolved(request);
  EXPECT_GT(MostBytes(given), MostBytes(chosen));
  request.mutable_target()->set_framework("megatron-bridge");  // which takes Transformer Engine's
  request.mutable_pinned_knobs()->RemoveLast();
  EXPECT_TRUE(fuses(Resolved(request)));
}

// A name that the stack refuses is in no fix.
TEST(MemoryFix, TakesOverNoModuleThatIsRefused) {
  v1::ResolveConfigRequest request = Training("qwen3-30b-a3b", "h100-sxm", 16, 6144, 128);
  SetSizes({.tp = 1, .pp = 1, .ep = 16}, &request);
  Pin("recompute_granularity", "selective", &request);
  v1::KnobSetting* const modules = request.add_pinned_knobs();
  modules->set_name("recompute_modules");
  modules->mutable_value()->mutable_list_value()->add_values()->set_string_value("foo");
  const v1::ResolveConfigResponse answer = Resolved(request);
  ASSERT_NE(FindFinding(answer.findings(), "recompute.modules-known"), nullptr);
  const v1::Finding* const lacks = FindFinding(answer.findings(), "fit.memory-marginal");
  ASSERT_NE(lacks, nullptr);
  ASSERT_EQ(lacks->fixes_size(), 1);
  EXPECT_FALSE(absl::StrContains(lacks->fixes(0).ShortDebugString(), "foo")) << lacks->fixes(0).ShortDebugString();
}

// The logits of a long sequence take most of the memory: half of them is still too much.
TEST(MemoryFix, MayTakeMoreThanHalfAway) {
  v1::ResolveConfigRequest request = Training("gpt-oss-120b", "b200", 64, 131072, 64);
  SetSizes({.tp = 1, .pp = 1, .ep = 8}, &request);
  const v1::ResolveConfigResponse answer = Resolved(request);
  const v1::Finding* const lacks = FindFinding(answer.findings(), "fit.memory");
  ASSERT_NE(lacks, nullptr);
  ASSERT_GT(lacks->fixes_size(), 0);
  EXPECT_EQ(lacks->fixes(0).knobs(0).name(), "context_parallel_size");
  EXPECT_GT(lacks->fixes(0).knobs(0).value().int_value(), 2);
}

}  // namespace
}  // namespace flightplan
