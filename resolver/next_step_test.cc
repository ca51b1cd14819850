#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "tests/support/answers.h"
#include "tests/support/requests.h"

namespace flightplan {
namespace {

using testing::Apply;
using testing::DeepSeekOnH100;
using testing::FindFinding;
using testing::NextStepOf;
using testing::Pin;
using testing::Resolved;
using testing::SetSizes;
using testing::StepUs;
using testing::Training;

// One effect has one number: that of the question asked again with the overlap.
TEST(NextStep, WhatKeepsTheOverlapOffHasTheForecastBesideIt) {
  v1::ResolveConfigRequest question = Training("olmoe-1b-7b", "h100-sxm", 8, 4096, 64);
  SetSizes({.tp = 1, .pp = 1, .ep = 4}, &question);
  question.mutable_layout()->set_micro_batch_size(4);
  const v1::ResolveConfigResponse plain = Resolved(question);
  std::string reason;
  for (const v1::Decision& decision : plain.decisions()) {
    if (decision.name() == "overlap_moe_expert_parallel_comm") reason = decision.reason();
  }
  Pin("overlap_moe_expert_parallel_comm", true, &question);
  const int change = static_cast<int>(std::lround(100 * (StepUs(Resolved(question)) / StepUs(plain) - 1)));
  EXPECT_TRUE(absl::StrContains(reason, absl::StrCat("with it: step ", change, " % ("))) << reason << " " << change;
}

// Where the forecast speaks against what was published of other runs, a run of both decides.
TEST(NextStep, WhatTheForecastSpeaksForIsLeftToARun) {
  v1::ResolveConfigRequest question = Training("qwen3-235b-a22b", "gb300-nvl72", 64, 4096, 512);
  SetSizes({.tp = 1, .pp = 1, .ep = 64}, &question);
  question.mutable_workload()->set_precision("mxfp8");
  const v1::ResolveConfigResponse plain = Resolved(question);
  ASSERT_EQ(plain.ab_suggestions_size(), 1);
  const v1::AbSuggestion& pair = plain.ab_suggestions(0);
  EXPECT_EQ(pair.knob(), "overlap_moe_expert_parallel_comm");
  Pin("overlap_moe_expert_parallel_comm", true, &question);
  EXPECT_NEAR(pair.expected_step_ratio().value(), StepUs(Resolved(question)) / StepUs(plain) - 1, 0.005);
}

TEST(NextStep, EveryAbSaysWhatToExpect) {
  v1::ResolveConfigRequest request = DeepSeekOnH100();
  request.mutable_model()->set_name("qwen3-30b-a3b");
  request.mutable_hardware()->set_gpu_count(16);
  request.mutable_workload()->set_global_batch_size(1024);
  request.mutable_software()->set_te_version("2.15.0");
  request.mutable_software()->set_torch_version("2.11.0");
  request.mutable_layout()->Clear();
  SetSizes({.tp = 1, .pp = 1, .ep = 16}, &request);
  const v1::ResolveConfigResponse response = Resolved(request);
  EXPECT_GT(response.ab_suggestions_size(), 0);
  for (const v1::AbSuggestion& ab : response.ab_suggestions()) {
    EXPECT_TRUE(ab.has_expected_step_ratio()) << ab.knob();
    EXPECT_LT(ab.expected_step_ratio().low(), ab.expected_step_ratio().high()) << ab.knob();
  }
}

// Where the other run takes a little more, and neither leaves room: the pair is there, and its decision says so.
TEST(NextStep, AnAbOfNearlyTheSameMemoryIsLeftToARun) {
  v1::ResolveConfigRequest request = Training("deepseek-v2", "gb200-nvl16-or-partial", 32, 8192, 64);
  request.mutable_target()->set_framework("flagscale");
  request.mutable_software()->set_te_version("2.12.0");
  request.set_stage(v1::STAGE_TUNE);
  SetSizes({.tp = 4, .pp = 1, .vpp = 1, .ep = 32}, &request);
  const v1::ResolveConfigResponse response = Resolved(request);
  ASSERT_EQ(response.ab_suggestions_size(), 1);
  EXPECT_EQ(response.ab_suggestions(0).knob(), "overlap_moe_expert_parallel_comm");
  const auto& all = response.decisions();
  const auto overlap = std::find_if(all.begin(), all.end(), [](const v1::Decision& decision) {
    return decision.name() == "overlap_moe_expert_parallel_comm";
  });
  ASSERT_NE(overlap, all.end());
  EXPECT_TRUE(overlap->needs_ab());
  EXPECT_EQ(NextStepOf(response).find("overlap_moe_expert_parallel_comm"), std::string::npos);
}

// Its launch is the plan's but for what the A/B changes, in the words of each stack that writes one setting a line.
TEST(NextStep, TheOtherRunOfAnAbSaysWhatItChanges) {
  for (const auto& [target, words] :
       {std::pair{"megatron-lm", "--overlap-moe-expert-parallel-comm \\\n"},
        {"vime", "--overlap-moe-expert-parallel-comm \\\n"},
        {"megatron-bridge", "++comm_overlap.overlap_moe_expert_parallel_comm=true \\\n"},
        {"verl", "override_transformer_config.overlap_moe_expert_parallel_comm=true \\\n"},
        {"nemo-rl", "model_overrides.overlap_moe_expert_parallel_comm=true \\\n"},
        {"flagscale", "++train.model.overlap_moe_expert_parallel_comm=true \\\n"}}) {
    v1::ResolveConfigRequest request = Training("deepseek-v2", "gb200-nvl16-or-partial", 32, 8192, 64);
    request.mutable_target()->set_framework(target);
    request.mutable_software()->set_te_version("2.12.0");
    request.mutable_software()->mutable_dispatchers();
    request.set_stage(v1::STAGE_TUNE);
    SetSizes({.tp = 4, .pp = 1, .ep = 32}, &request);
    const v1::ResolveConfigResponse response = Resolved(request);
    const auto ab =
        std::find_if(response.ab_suggestions().begin(), response.ab_suggestions().end(),
                     [](const v1::AbSuggestion& one) { return one.knob() == "overlap_moe_expert_parallel_comm"; });
    ASSERT_NE(ab, response.ab_suggestions().end()) << target;
    EXPECT_TRUE(absl::StrContains(ab->other_launch().text(), words)) << ab->other_launch().text();
  }
}

// The layers given to the stages otherwise are the plan's own, where its pipeline waits for its last stage.
TEST(NextStep, IsNoSplitOfTheLayersThatThePlanHas) {
  v1::ResolveConfigRequest request = Training("qwen3-14b", "h100-sxm", 32, 4096, 128);
  request.set_stage(v1::STAGE_TUNE);
  SetSizes({.tp = 1, .pp = 4, .vpp = 1}, &request);
  const v1::ResolveConfigResponse chosen = Resolved(request);
  const auto cut = std::find_if(chosen.decisions().begin(), chosen.decisions().end(), [](const v1::Decision& decision) {
    return decision.name() == "pipeline_model_parallel_layout";
  });
  ASSERT_NE(cut, chosen.decisions().end());
  EXPECT_EQ(cut->rule_id(), "plan.layer-split");
  for (const v1::AbSuggestion& ab : chosen.ab_suggestions()) EXPECT_NE(ab.knob(), "pipeline_model_parallel_layout");
  request.mutable_layout()->set_pipeline_model_parallel_layout("Etttttttttt|tttttttttt|tttttttttt|ttttttttttL");
  EXPECT_LT(StepUs(chosen), StepUs(Resolved(request)) * 0.98);
}

v1::ResolveConfigRequest Llama70bOn(const char* gpu) {
  v1::ResolveConfigRequest request = Training("llama-3.1-70b", gpu, 64, 4096, 512);
  request.mutable_software()->set_te_version("2.12.0");
  SetSizes({.tp = 2, .pp = 4, .vpp = 1}, &request);
  return request;
}

// What the list of next steps offers beside the first, in its order: "decide.next-step-pipeline". `last`: the finding
// that stands last.
std::vector<std::string> NextSteps(const v1::ResolveConfigRequest& request, v1::Finding* last = nullptr) {
  const v1::ResolveConfigResponse answer = Resolved(request);
  std::vector<std::string> ids;
  for (const v1::Finding& finding : answer.findings()) {
    if (finding.area() != "next-step") continue;
    ids.push_back(finding.rule_id());
    if (last != nullptr) *last = finding;
  }
  return ids;
}

std::string Setting(const v1::Finding& finding, const std::string& name) {
  if (finding.fixes().empty()) return "";
  for (const v1::KnobSetting& knob : finding.fixes(0).knobs()) {
    if (knob.name() == name) return knob.value().string_value();
  }
  return "";
}

bool Holds(const std::vector<std::string>& ids, absl::string_view id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

// FP8 comes last, by the GPU's own recipe, and never without a word about the numerics.
TEST(NextStep, IsFp8LastOfAll) {
  v1::ResolveConfigRequest request = Llama70bOn("b200-sxm");
  v1::Finding finding;
  std::vector<std::string> steps = NextSteps(request, &finding);
  ASSERT_FALSE(steps.empty());
  EXPECT_EQ(steps.back(), "decide.next-step-precision");
  EXPECT_EQ(Setting(finding, "fp8_recipe"), "mxfp8");
  EXPECT_TRUE(finding.fixes(0).changes_convergence());
  EXPECT_TRUE(absl::StrContains(finding.needs(), "numerics")) << finding.needs();
  request = Llama70bOn("h100-sxm");
  request.mutable_layout()->set_tensor_model_parallel_size(4);  // room for a second copy of the parameters
  steps = NextSteps(request, &finding);
  ASSERT_FALSE(steps.empty());
  EXPECT_EQ(steps.back(), "decide.next-step-precision");
  EXPECT_EQ(Setting(finding, "fp8_recipe"), "blockwise");
}

TEST(NextStep, IsNotFp8WhereThatWouldNotRunOrWasSpokenOf) {
  constexpr char kPrecision[] = "decide.next-step-precision";
  EXPECT_FALSE(Holds(NextSteps(Llama70bOn("a100-sxm-80gb")), kPrecision));
  v1::ResolveConfigRequest request = Llama70bOn("b200-sxm");
  request.set_stage(v1::STAGE_BRING_UP);
  EXPECT_FALSE(Holds(NextSteps(request), kPrecision));
  request = Llama70bOn("b200-sxm");
  request.mutable_software()->set_te_version("1.13.0");  // before MXFP8
  EXPECT_FALSE(Holds(NextSteps(request), kPrecision));
  request = Llama70bOn("b200-sxm");
  request.mutable_workload()->set_precision("mxfp8");
  EXPECT_FALSE(Holds(NextSteps(request), kPrecision));
  request = Llama70bOn("b200-sxm");
  request.mutable_workload()->set_seq_length(4097);  // no multiple of 8 tokens
  EXPECT_FALSE(Holds(NextSteps(request), kPrecision));
  request = Llama70bOn("b200-sxm");
  request.add_pinned_knobs()->set_name("fp8");
  EXPECT_FALSE(Holds(NextSteps(request), kPrecision));
}

// The caller's stages stay, and what they cost is said; what a search chose is not weighed again.
TEST(NextStep, IsAnotherPipelineWhereTheStagesWereGiven) {
  constexpr char kPipeline[] = "decide.next-step-pipeline";
  v1::ResolveConfigRequest request = Llama70bOn("h100-sxm");
  request.mutable_workload()->set_global_batch_size(96);  // few microbatches: a bubble
  EXPECT_TRUE(Holds(NextSteps(request), kPipeline));
  v1::ResolveConfigRequest open = request;
  open.mutable_layout()->clear_virtual_pipeline_model_parallel_size();
  EXPECT_FALSE(Holds(NextSteps(open), kPipeline));
  v1::ResolveConfigRequest searched = Training("qwen3-30b-a3b", "h100-sxm", 12, 4096, 96);  // which lays the stages out
  EXPECT_FALSE(Holds(NextSteps(searched), kPipeline));
  request.mutable_workload()->set_global_batch_size(8192);  // no bubble
  EXPECT_FALSE(Holds(NextSteps(request), kPipeline));
}

// More stages take more memory: with little room left, decisions made anew would pay for it, so the fix says that they
// are not to.
TEST(NextStep, KeepsOffWhatThePlanDoesWithout) {
  v1::ResolveConfigRequest request = Llama70bOn("h100-sxm");
  request.mutable_workload()->set_global_batch_size(96);
  const v1::ResolveConfigResponse answer = Resolved(request);
  const v1::Finding* const step = FindFinding(answer.findings(), "decide.next-step-pipeline");
  ASSERT_NE(step, nullptr);
  const auto& knobs = step->fixes(0).knobs();
  const auto offload = std::find_if(knobs.begin(), knobs.end(),
                                    [](const v1::KnobSetting& knob) { return knob.name() == "optimizer_cpu_offload"; });
  ASSERT_NE(offload, knobs.end());
  EXPECT_TRUE(offload->has_value() && !offload->value().bool_value());
}

// Virtual stages that there is no room for are offered with the recompute that makes it, where they gain all the same.
TEST(NextStep, IsAnotherPipelineWithWhatMakesRoomForIt) {
  v1::ResolveConfigRequest request = Training("llama-3.1-70b", "h100-sxm", 128, 4096, 128);
  SetSizes({.tp = 2, .pp = 4, .vpp = 1}, &request);
  const v1::ResolveConfigResponse before = Resolved(request);
  const v1::Finding* const step = FindFinding(before.findings(), "decide.next-step-pipeline");
  ASSERT_NE(step, nullptr);
  EXPECT_TRUE(absl::StrContains(step->needs(), "recompute_granularity=full")) << step->needs();
  request.mutable_layout()->clear_virtual_pipeline_model_parallel_size();  // the fix says another
  Apply(step->fixes(0), &request);
  const v1::ResolveConfigResponse after = Resolved(request);
  EXPECT_TRUE(after.will_run());
  EXPECT_LT(StepUs(after), 0.95 * StepUs(before));
  EXPECT_LE(after.estimate().fit(), before.estimate().fit());
}

// No sentence of the answer, and no side of its A/B, puts attention's graphs beside EP overlap.
// LoongForge switches TP overlap off under FP16: to turn it on would change nothing.
TEST(NextStep, IsNothingThatTheStackTakesBack) {
  v1::ResolveConfigRequest request = Training("qwen3-14b", "l40s", 24, 4096, 24);
  request.mutable_target()->set_framework("loongforge");
  SetSizes({.tp = 8, .pp = 1}, &request);
  const auto offers_overlap = [](const v1::ResolveConfigResponse& response) {
    const v1::Finding* const next = FindFinding(response.findings(), "decide.next-step");
    const auto is_overlap = [](const v1::AbSuggestion& ab) { return ab.knob() == "tp_comm_overlap"; };
    return (next != nullptr && absl::StrContains(next->needs(), "tp_comm_overlap=true")) ||
           std::any_of(response.ab_suggestions().begin(), response.ab_suggestions().end(), is_overlap);
  };
  request.mutable_workload()->set_precision("fp16");
  EXPECT_FALSE(offers_overlap(Resolved(request)));
}

TEST(NextStep, NeverCapturesAttentionBesideExpertOverlap) {
  v1::ResolveConfigRequest request = Training("qwen3-30b-a3b", "h100", 16, 4096, 128);
  SetSizes({.tp = 1, .pp = 1, .ep = 16}, &request);
  const auto is_attention = [](const v1::KnobValue& module) { return module.string_value() == "attn"; };
  bool tried = false;
  for (const int batch : {128, 512}) {
    for (const char* graphs : {"", "transformer_engine"}) {
      request.mutable_workload()->set_global_batch_size(batch);
      request.clear_pinned_knobs();
      if (graphs[0] != 0) Pin("cuda_graph_impl", graphs, &request);
      const v1::ResolveConfigResponse response = Resolved(request);
      EXPECT_EQ(FindFinding(response.findings(), "field.graphed-attention-ep-overlap"), nullptr);
      for (const v1::AbSuggestion& ab : response.ab_suggestions()) {
        if (ab.knob() != "overlap_moe_expert_parallel_comm") continue;
        for (const v1::KnobSetting& companion : ab.companions()) {
          if (companion.name() != "cuda_graph_modules") continue;
          tried = true;
          const auto& modules = companion.value().list_value().values();
          EXPECT_TRUE(std::none_of(modules.begin(), modules.end(), is_attention)) << companion.ShortDebugString();
        }
      }
    }
  }
  EXPECT_TRUE(tried);
}

// Beside the plan's own recompute neither EP overlap nor graphs have room: the other run of each recomputes more.
TEST(NextStep, PutsWhatMakesRoomIntoTheOtherRun) {
  v1::ResolveConfigRequest request = Training("dbrx", "h100", 1024, 4096, 2048);
  SetSizes({.tp = 2, .pp = 2, .vpp = 4, .ep = 16}, &request);
  request.mutable_software()->set_te_version("2.12.0");
  const v1::ResolveConfigResponse response = Resolved(request);
  int recomputing = 0;
  for (const v1::AbSuggestion& ab : response.ab_suggestions()) {
    for (const v1::KnobSetting& companion : ab.companions()) {
      if (companion.name() != "recompute_modules") continue;
      ++recomputing;
      v1::ResolveConfigRequest other = request;
      const auto pin = [&](const std::string& name, const v1::KnobValue& value) {
        v1::KnobSetting& pinned = *other.add_pinned_knobs();
        pinned.set_name(name);
        *pinned.mutable_value() = value;
      };
      pin(ab.knob(), ab.other_value());
      for (const v1::KnobSetting& beside : ab.companions()) pin(beside.name(), beside.value());
      const v1::ResolveConfigResponse then = Resolved(other);
      EXPECT_EQ(then.outcome(), v1::OUTCOME_RESOLVED) << ab.knob();
      // Published pairs give the interval, the forecast the point in it. Beside graphs other decisions change, too.
      if (ab.knob() == "cuda_graph_impl") continue;
      EXPECT_NEAR(ab.expected_step_ratio().value(), StepUs(then) / StepUs(response) - 1, 0.01) << ab.knob();
    }
  }
  EXPECT_EQ(recomputing, 2);
}

// Its shorter passes make graphs worth more, which would take the room: they stay off with it.
TEST(NextStep, ToFp8KeepsGraphsOffWhereTheyWouldTakeTheRoom) {
  v1::ResolveConfigRequest request = Training("mixtral-8x22b", "gb300-nvl72", 256, 4096, 1024);
  SetSizes({.tp = 1, .pp = 1, .ep = 4}, &request);
  request.mutable_layout()->set_micro_batch_size(2);
  const v1::ResolveConfigResponse before = Resolved(request);
  const v1::Finding* const next = FindFinding(before.findings(), "decide.next-step-precision");
  ASSERT_NE(next, nullptr);
  Apply(next->fixes(0), &request);
  const v1::ResolveConfigResponse after = Resolved(request);
  EXPECT_EQ(after.estimate().fit(), before.estimate().fit());
  EXPECT_LT(after.estimate().step_time_us().value(), 0.8 * before.estimate().step_time_us().value());
}

// What evidence left out and the forecast took, for want of memory, would be left out again where FP8 makes room.
TEST(NextStep, ToFp8KeepsTheOverlapThatTheForecastChose) {
  v1::ResolveConfigRequest request = Training("glm-4.5-air", "b300-sxm", 64, 4096, 512);
  SetSizes({.tp = 1, .pp = 1, .ep = 16}, &request);
  request.mutable_layout()->set_micro_batch_size(2);
  const v1::ResolveConfigResponse before = Resolved(request);
  const v1::Finding* const next = FindFinding(before.findings(), "decide.next-step-precision");
  ASSERT_NE(next, nullptr);
  Apply(next->fixes(0), &request);
  EXPECT_LT(Resolved(request).estimate().step_time_us().value(), before.estimate().step_time_us().value());
}

// Without recompute there is less room, and it may not be there: a run that fits by chance is not worth 2 %.
TEST(NextStep, TakesNoMemoryWhereThereIsLittle) {
  v1::ResolveConfigRequest request = Training("glm-4.5", "b300-sxm", 128, 4096, 512);
  SetSizes({.tp = 2, .pp = 1, .ep = 32}, &request);
  request.mutable_layout()->set_micro_batch_size(2);
  const v1::ResolveConfigResponse answer = Resolved(request);
  ASSERT_EQ(answer.estimate().fit(), v1::FIT_VERDICT_MARGINAL);
  const v1::Finding* const next = FindFinding(answer.findings(), "decide.next-step");
  EXPECT_TRUE(next == nullptr || !absl::StrContains(next->needs(), "recompute_granularity=none")) << next->needs();
  request = Training("llama-4-maverick", "h200-sxm", 128, 8192, 1024);
  SetSizes({.tp = 1, .pp = 16, .vpp = 1, .ep = 8}, &request);
  EXPECT_EQ(FindFinding(Resolved(request).findings(), "decide.next-step-pipeline"), nullptr);
}

// The data-parallel half of a container's overlaps has no effect there (dp-overlap.needs-ddp-distopt).
TEST(NextStep, OverlapsNoGradientsWhereNothingComesOfIt) {
  v1::ResolveConfigRequest request = Training("qwen3.5-27b", "h200-sxm", 32, 4096, 64);
  request.mutable_target()->set_framework("megatron-bridge");
  SetSizes({.tp = 1, .pp = 2}, &request);
  request.mutable_layout()->set_micro_batch_size(1);
  Pin("use_distributed_optimizer", false, &request);
  const v1::ResolveConfigResponse response = Resolved(request);
  EXPECT_FALSE(absl::StrContains(NextStepOf(response), "overlap_grad_reduce")) << NextStepOf(response);
  EXPECT_EQ(response.ab_suggestions_size(), 0);
}

// Its error has a fix of its own; what came of another pipeline would be compared to nothing.
TEST(NextStep, IsNoOtherPipelineForWhatDoesNotStart) {
  v1::ResolveConfigRequest request = Training("gemma-4-26b-a4b", "h200-sxm", 32, 32768, 256);
  request.mutable_target()->set_framework("verl");
  SetSizes({.tp = 4, .pp = 8, .vpp = 8, .ep = 1}, &request);
  const v1::ResolveConfigResponse response = Resolved(request);
  EXPECT_EQ(response.outcome(), v1::OUTCOME_INFEASIBLE);
  EXPECT_EQ(FindFinding(response.findings(), "decide.next-step-pipeline"), nullptr);
}

// FP8 it has, MXFP8 not.
TEST(NextStep, IsNoMxfp8WhereTransformerEngineRefusesIt) {
  const v1::ResolveConfigResponse answer = Resolved(Training("gpt-oss-20b", "rtx-pro-6000-server", 8, 4096, 64));
  for (const v1::Finding& finding : answer.findings()) {
    EXPECT_FALSE(absl::StrContains(finding.needs(), "mxfp8")) << finding.needs();
  }
}

}  // namespace
}  // namespace flightplan
