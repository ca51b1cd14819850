#include <gtest/gtest.h>

#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/normalize/canonical_bytes.h"
#include "tests/support/answers.h"
#include "tests/support/requests.h"

namespace flightplan {
namespace {

using testing::Apply;
using testing::CountOf;
using testing::DeepSeekOnH100;
using testing::FindFinding;
using testing::Pin;
using testing::QwenOnSixteen;
using testing::Resolved;
using testing::SetSizes;
using testing::StepUs;
using testing::Training;

TEST(OpenLayout, IsSearched) {
  const v1::ResolveConfigResponse response = Resolved(QwenOnSixteen());
  EXPECT_EQ(response.outcome(), v1::OUTCOME_RESOLVED);
  EXPECT_NE(response.estimate().fit(), v1::FIT_VERDICT_DOES_NOT_FIT);
  EXPECT_EQ(CountOf(response.findings(), "layout.searched"), 1);
  EXPECT_EQ(CountOf(response.findings(), "layout.open"), 0);
  // What the search chose is a decision, not the caller's word.
  int sizes = 0;
  for (const v1::ConfigEntry& entry : response.config()) {
    if (entry.name() != "expert_model_parallel_size" && entry.name() != "tensor_model_parallel_size") continue;
    EXPECT_EQ(entry.origin(), v1::CONFIG_ORIGIN_DECIDED) << entry.name();
    ++sizes;
  }
  EXPECT_EQ(sizes, 2);
  for (const v1::Decision& decision : response.decisions()) {
    if (decision.name() != "expert_model_parallel_size") continue;
    EXPECT_EQ(decision.rule_id(), "plan.layout");
  }
}

// What it would choose itself makes no answer faster for being said: the search knows that a few expert ranks are
// evenly loaded, and the shared expert beside the all-to-all where EP is open.
TEST(OpenLayout, IsAsFastAsWithItsOwnSharedExpertOverlapSaid) {
  v1::ResolveConfigRequest request = Training("llama-4-scout", "h200-sxm", 16, 8192, 128);
  request.mutable_target()->set_framework("megatron-bridge");
  const double open_us = StepUs(Resolved(request));
  Pin("moe_shared_expert_overlap", true, &request);
  EXPECT_LE(open_us, StepUs(Resolved(request)) * 1.01);
}

// A word that leaves full recompute out does not leave out what the search puts on the host in its place.
TEST(OpenLayout, FindsWithItsOwnOverlapPinnedWhatItFoundWithout) {
  v1::ResolveConfigRequest request = Training("kimi-k2", "h100-sxm", 256, 4096, 2048);
  const v1::ResolveConfigResponse open = Resolved(request);
  ASSERT_TRUE(open.will_run());
  Pin("overlap_moe_expert_parallel_comm", true, &request);
  const v1::ResolveConfigResponse pinned = Resolved(request);
  EXPECT_TRUE(pinned.will_run());
  EXPECT_LE(StepUs(pinned), StepUs(open) * 1.01);
}

// What leaves no room for the forecast's error counts for longer than it takes, but not for ever: with these sizes what
// leaves more of it takes 40 % longer.
TEST(OpenLayout, TakesWhatLeavesNoRoomWhereItIsMuchFaster) {
  v1::ResolveConfigRequest request = Training("llama-4-maverick", "h100-sxm", 64, 1024, 256);
  request.mutable_target()->set_framework("slime");
  (*request.mutable_env())["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True";
  v1::Layout& given = *request.mutable_layout();
  given.set_pipeline_model_parallel_size(4);
  given.set_expert_model_parallel_size(16);
  given.set_context_parallel_size(1);
  given.set_expert_tensor_parallel_size(1);
  const v1::ResolveConfigResponse open = Resolved(request);
  EXPECT_EQ(open.estimate().fit(), v1::FIT_VERDICT_MARGINAL);
  // What is said against the next plan does not hold for this one.
  const v1::Finding* const searched = FindFinding(open.findings(), "layout.searched");
  ASSERT_NE(searched, nullptr);
  const size_t but = searched->needs().find(" faster, but ");
  ASSERT_NE(but, std::string::npos) << searched->needs();
  std::string against = searched->needs().substr(but + std::string(" faster, but ").size());
  against = against.substr(0, against.find(';'));
  const v1::Finding* const outside = FindFinding(open.findings(), "plan.outside-evidence");
  EXPECT_TRUE(outside == nullptr || outside->seen().find(against) == std::string::npos) << outside->seen();
  request.mutable_layout()->set_tensor_model_parallel_size(8);
  request.mutable_layout()->set_micro_batch_size(1);
  request.mutable_layout()->set_virtual_pipeline_model_parallel_size(1);
  const v1::ResolveConfigResponse roomy = Resolved(request);
  EXPECT_EQ(roomy.outcome(), v1::OUTCOME_RESOLVED);
  EXPECT_LT(StepUs(open) * 1.4, StepUs(roomy));
}

// Its virtual stages are its own bars: what a knob would say of them is refused, and fills no list.
// Core 0.18 does not split sparse attention along the sequence: the layouts that would are faster, and none is
// accepted.
TEST(OpenLayout, SplitsNoContextThatTheReleaseDoesNot) {
  v1::ResolveConfigRequest request = Training("deepseek-v3.2", "h800-sxm", 2048, 4096, 2048);
  request.mutable_target()->set_framework("ms-swift");
  request.set_stage(v1::STAGE_TUNE);
  request.mutable_layout()->set_tensor_model_parallel_size(2);
  request.mutable_layout()->set_pipeline_model_parallel_size(8);
  EXPECT_EQ(Resolved(request).outcome(), v1::OUTCOME_RESOLVED);
}

TEST(OpenLayout, GivesAHybridPatternNoVirtualStages) {
  v1::ResolveConfigRequest request = Training("nemotron-h-8b", "h800-sxm", 256, 4096, 512);
  request.mutable_layout()->set_pipeline_model_parallel_size(2);
  EXPECT_EQ(Resolved(request).outcome(), v1::OUTCOME_RESOLVED);
}

// As with the sizes given.
TEST(OpenLayout, LeavesVirtualStagesOutOfABringUp) {
  v1::ResolveConfigRequest request = Training("qwen3-32b", "h800-sxm", 32, 8192, 256);
  request.mutable_layout()->set_tensor_model_parallel_size(1);
  const auto stages_of = [&] {
    const v1::ResolveConfigResponse answer = Resolved(request);
    for (const v1::Decision& decision : answer.decisions()) {
      if (decision.name() == "virtual_pipeline_model_parallel_size") return decision;
    }
    ADD_FAILURE() << "no decision about virtual stages";
    return v1::Decision();
  };
  EXPECT_GT(stages_of().value().int_value(), 1);
  request.set_stage(v1::STAGE_BRING_UP);
  const v1::Decision plain = stages_of();
  EXPECT_LE(plain.value().int_value(), 1);
  EXPECT_TRUE(absl::StartsWith(plain.reason(), "bring-up")) << plain.reason();
}

// A fix is tried at the sizes that were chosen, so it names them: alone it would be a question for another search.
TEST(OpenLayout, HasFixesThatHoldWhatTheySay) {
  v1::ResolveConfigRequest request = Training("qwen3-235b-a22b", "h100-sxm", 256, 4096, 2048);
  request.mutable_software()->set_te_version("2.12");
  const v1::ResolveConfigResponse response = Resolved(request);
  int fixes = 0;
  for (const v1::Finding& finding : response.findings()) {
    for (const v1::Fix& fix : finding.fixes()) {
      ++fixes;
      v1::ResolveConfigRequest fixed = request;
      Apply(fix, &fixed);
      const v1::ResolveConfigResponse then = Resolved(fixed);
      EXPECT_EQ(CountOf(then.findings(), finding.rule_id()), 0) << fix.ShortDebugString();
      EXPECT_EQ(CountOf(then.findings(), "layout.searched"), 0);
      EXPECT_EQ(then.estimate().fit(), v1::FIT_VERDICT_FITS);
    }
  }
  EXPECT_GT(fixes, 0);
}

// The better of the search's own way to more room and the memory's fixes is both the fix and what the search says of
// room: one page, one story.
TEST(OpenLayout, HasThePlanWithRoomAsItsFix) {
  v1::ResolveConfigRequest request = DeepSeekOnH100();
  request.clear_layout();
  request.mutable_hardware()->set_gpu_count(512);
  const v1::ResolveConfigResponse response = Resolved(request);
  const v1::Finding* const marginal = FindFinding(response.findings(), "fit.memory-marginal");
  const v1::Finding* const search = FindFinding(response.findings(), "layout.searched");
  ASSERT_TRUE(marginal != nullptr && search != nullptr);
  const std::string& searched = search->needs();
  const size_t room = searched.find("with room for the whole band");
  ASSERT_NE(room, std::string::npos) << searched;
  ASSERT_EQ(marginal->fixes_size(), 1);
  v1::ResolveConfigRequest fixed = request;
  Apply(marginal->fixes(0), &fixed);
  const v1::ResolveConfigResponse then = Resolved(fixed);
  EXPECT_EQ(then.estimate().fit(), v1::FIT_VERDICT_FITS);
  const double slower = std::stod(searched.substr(searched.find(',', room) + 1));
  const double now = StepUs(response), after = StepUs(then);
  EXPECT_NEAR(100 * (after / now - 1), slower, 0.1) << searched;
}

// The other plan's stages are not split as the chosen one's are.
TEST(OpenLayout, HasARoomyPlanWithoutTheSplitOfTheChosen) {
  v1::ResolveConfigRequest request = Training("llama-3.1-70b", "h100-sxm", 64, 4096, 512);
  request.mutable_target()->set_version("0.15");
  request.mutable_layout()->set_micro_batch_size(2);
  const v1::ResolveConfigResponse response = Resolved(request);
  ASSERT_TRUE(response.layout().sizes().has_pipeline_model_parallel_layout());
  const v1::Finding* const marginal = FindFinding(response.findings(), "fit.memory-marginal");
  ASSERT_TRUE(marginal != nullptr);
  ASSERT_EQ(marginal->fixes_size(), 1);
  v1::ResolveConfigRequest fixed = request;
  Apply(marginal->fixes(0), &fixed);
  EXPECT_EQ(Resolved(fixed).estimate().fit(), v1::FIT_VERDICT_FITS) << marginal->fixes(0).ShortDebugString();
}

// The layers of its stages are its own decision's, where they do not divide: left out, the plan was refused as a fix.
TEST(OpenLayout, HasARoomyPlanOfLayersThatDoNotDivideAsItsFix) {
  const v1::ResolveConfigRequest request = Training("deepseek-v4-flash", "h100-sxm", 128, 4096, 1024);
  const v1::ResolveConfigResponse chosen = Resolved(request);
  const v1::Finding* const marginal = FindFinding(chosen.findings(), "fit.memory-marginal");
  ASSERT_NE(marginal, nullptr);
  ASSERT_GT(marginal->fixes_size(), 0);
  v1::ResolveConfigRequest fixed = request;
  Apply(marginal->fixes(0), &fixed);
  const v1::ResolveConfigResponse roomy = Resolved(fixed);
  EXPECT_EQ(roomy.outcome(), v1::OUTCOME_RESOLVED);
  EXPECT_EQ(roomy.estimate().fit(), v1::FIT_VERDICT_FITS);
  EXPECT_LT(StepUs(roomy), 1.15 * StepUs(chosen));
}

// Graphs of a pipeline are left to an A/B, but for those that gain enough: a search must find the pipelines that do.
TEST(OpenLayout, FindsPipelinesWhoseGraphsGainEnough) {
  v1::ResolveConfigRequest request = Training("qwen3-30b-a3b", "h100-sxm", 32, 4096, 256);
  request.mutable_workload()->set_precision("fp8_block");
  const double open_us = StepUs(Resolved(request));
  request.mutable_layout()->set_micro_batch_size(1);
  EXPECT_LE(open_us, 1.01 * StepUs(Resolved(request)));
}

TEST(OpenLayout, KeepsTheGivenSizes) {
  v1::ResolveConfigRequest request = QwenOnSixteen();
  request.mutable_layout()->set_tensor_model_parallel_size(2);
  Pin("pipeline_model_parallel_size", 4, &request);
  const v1::ResolveConfigResponse response = Resolved(request);
  EXPECT_EQ(CountOf(response.findings(), "layout.searched"), 1);
  EXPECT_EQ(response.layout().sizes().tensor_model_parallel_size(), 2);
  EXPECT_EQ(response.layout().sizes().pipeline_model_parallel_size(), 4);
  for (const v1::ConfigEntry& entry : response.config()) {
    if (entry.name() == "tensor_model_parallel_size" || entry.name() == "pipeline_model_parallel_size") {
      EXPECT_EQ(entry.origin(), v1::CONFIG_ORIGIN_CALLER) << entry.name();
    }
  }
}

TEST(OpenLayout, IsTheSameEachTime) {
  const v1::ResolveConfigResponse first = Resolved(QwenOnSixteen());
  const v1::ResolveConfigResponse second = Resolved(QwenOnSixteen());
  EXPECT_EQ(CanonicalBytes(first), CanonicalBytes(second));
  // The question as it was asked, not as it was filled in.
  v1::ResolveConfigRequest filled = QwenOnSixteen();
  *filled.mutable_layout() = first.layout().sizes();
  const v1::ResolveConfigResponse given = Resolved(filled);
  EXPECT_NE(given.digest(), first.digest());
  EXPECT_EQ(StepUs(given), StepUs(first));
}

// 61 layers, a prediction layer, the embedding and the loss on 64 stages: as the pinned question has them.
TEST(OpenLayout, GivenVirtualStagesMayHoldThePredictionLayersAlone) {
  v1::ResolveConfigRequest request = Training("deepseek-v4-pro", "gb200-nvl16-or-partial", 128, 16384, 512);
  request.mutable_target()->set_framework("megatron-bridge");
  request.set_stage(v1::STAGE_TUNE);
  SetSizes({.tp = 2, .pp = 8, .vpp = 8, .ep = 16}, &request);
  const double pinned_us = StepUs(Resolved(request));
  request.mutable_layout()->clear_tensor_model_parallel_size();
  const v1::ResolveConfigResponse open = Resolved(request);
  EXPECT_EQ(open.outcome(), v1::OUTCOME_RESOLVED);
  EXPECT_LT(StepUs(open), 1.01 * pinned_us);
}

TEST(OpenLayout, SaysWhyItHasNoAnswer) {
  v1::ResolveConfigRequest request = DeepSeekOnH100();
  request.clear_layout();
  for (const int gpus : {1, 8}) {
    request.mutable_hardware()->set_gpu_count(gpus);
    const v1::ResolveConfigResponse response = Resolved(request);
    EXPECT_EQ(response.outcome(), v1::OUTCOME_INFEASIBLE);
    EXPECT_EQ(CountOf(response.findings(), "layout.none-found"), 1);
    // Nor does it offer sizes of which the search says that they do not fit.
    const v1::Finding* const open = FindFinding(response.findings(), "layout.open");
    ASSERT_NE(open, nullptr);
    EXPECT_EQ(open->fixes_size(), 0);
    EXPECT_EQ(open->needs().find("give the open sizes"), std::string::npos) << open->needs();
    // No size was given, and no sequence is short enough: the count from which the state fits.
    const v1::Finding* const none = FindFinding(response.findings(), "layout.none-found");
    EXPECT_TRUE(absl::StrContains(none->needs(), "state fit from about ")) << none->needs();
    EXPECT_FALSE(absl::StrContains(none->needs(), "given sizes")) << none->needs();
    EXPECT_FALSE(absl::StrContains(none->needs(), "sequence")) << none->needs();
  }
}

// Neither the GPUs nor the batch are in the way of what is named.
TEST(OpenLayout, NamesTheNumberThatNothingDivides) {
  const auto seen = [](const v1::ResolveConfigRequest& request) {
    const v1::ResolveConfigResponse response = Resolved(request);
    const v1::Finding* const none = FindFinding(response.findings(), "layout.none-found");
    return none == nullptr ? "" : absl::StrCat(none->seen(), "; ", none->needs());
  };
  v1::ResolveConfigRequest odd = Training("qwen3-30b-a3b", "h100-sxm", 64, 4097, 512);
  odd.mutable_layout()->set_tensor_model_parallel_size(2);
  EXPECT_TRUE(absl::StrContains(seen(odd), "seq_length=4097, tensor_model_parallel_size=2")) << seen(odd);
  EXPECT_TRUE(absl::StrContains(seen(odd), "such as --seq 4098")) << seen(odd);
  v1::ResolveConfigRequest five = Training("qwen3-30b-a3b", "h100-sxm", 64, 4096, 512);
  five.mutable_layout()->set_tensor_model_parallel_size(5);
  EXPECT_TRUE(absl::StrContains(seen(five), "tensor_model_parallel_size=1, 2, 4")) << seen(five);
  five.mutable_layout()->set_pipeline_model_parallel_size(7);
  EXPECT_TRUE(absl::StrContains(seen(five), "has any of them; tensor_model_parallel_size=1, 2, 4")) << seen(five);
}

// Sizes that no search can name before the other errors are mended are no error of their own.
TEST(OpenLayout, IsNoErrorBesideOneOfAGivenSize) {
  v1::ResolveConfigRequest request = QwenOnSixteen();
  request.mutable_layout()->set_tensor_model_parallel_size(3);
  const v1::ResolveConfigResponse refused = Resolved(request);
  EXPECT_EQ(refused.outcome(), v1::OUTCOME_INFEASIBLE);
  EXPECT_EQ(CountOf(refused.findings(), "layout.open"), 0);
  // Nor does it say of sizes that count as 1 whether they fit.
  v1::ResolveConfigRequest odd = Training("llama-3.1-8b", "h100-sxm", 8, 4097, 64);
  odd.mutable_workload()->set_precision("fp8_block");
  const v1::ResolveConfigResponse answer = Resolved(odd);
  EXPECT_EQ(testing::Errors(answer.findings()), std::set<std::string>{"fp8.tokens-multiple-of-8"});
  EXPECT_EQ(CountOf(answer.findings(), "fit.memory-marginal"), 0);
  EXPECT_EQ(answer.estimate().fit(), v1::FIT_VERDICT_UNKNOWN);
  EXPECT_EQ(answer.estimate().stages_size(), 0);
  EXPECT_FALSE(answer.estimate().has_step_time_us());
  const v1::Finding* const none = FindFinding(answer.findings(), "layout.none-found");
  ASSERT_NE(none, nullptr);
  EXPECT_TRUE(absl::EndsWith(none->needs(), "counts each open size as 1")) << none->needs();
}

// A plan with fewer virtual stages stands for one as fast, unless it ranks behind: the one that it stood for was then
// in no list.
TEST(OpenLayout, FindsWhatAPlanThatRanksBehindItWouldStandFor) {
  v1::ResolveConfigRequest request = Training("dbrx", "gb200-nvl72", 128, 16384, 1024);
  request.mutable_target()->set_framework("primus");
  request.mutable_software()->set_te_version("2.12.0");
  SetSizes({.tp = 4, .pp = 8, .ep = 1}, &request);
  const double pinned_us = StepUs(Resolved(request));
  request.mutable_layout()->clear_tensor_model_parallel_size();
  EXPECT_LE(StepUs(Resolved(request)), 1.01 * pinned_us);
}

// Why nothing was searched is the value that cannot be, not that model and GPU are strangers.
TEST(OpenLayout, SaysWhatKeepsTheModelFromBeingCounted) {
  v1::ResolveConfigRequest request = QwenOnSixteen();
  Pin("moe_router_topk", 200, &request);
  const v1::ResolveConfigResponse answer = Resolved(request);
  const v1::Finding* const why = FindFinding(answer.findings(), "layout.not-searched");
  ASSERT_NE(why, nullptr);
  EXPECT_TRUE(absl::StrContains(why->seen(), "moe_router_topk")) << why->seen();
}

// A precision that these GPUs do not have is one fault: no size mends it, and its fix needs nothing that the layout of
// a question without a search would.
TEST(OpenLayout, WhatEveryLayoutIsRefusedForIsOneError) {
  v1::ResolveConfigRequest request = Training("llama-3.1-8b", "h100-sxm", 16, 4096, 128);
  request.mutable_workload()->set_precision("mxfp8");
  const v1::ResolveConfigResponse refused = Resolved(request);
  EXPECT_EQ(testing::Errors(refused.findings()), std::set<std::string>{"gpu-gate.mxfp8-needs-blackwell"});
  EXPECT_EQ(CountOf(refused.findings(), "layout.none-found"), 1);
  EXPECT_EQ(refused.estimate().fit(), v1::FIT_VERDICT_UNKNOWN);
  const v1::Finding* const gate = FindFinding(refused.findings(), "gpu-gate.mxfp8-needs-blackwell");
  ASSERT_EQ(gate->fixes_size(), 2);
  for (const v1::Fix& fix : gate->fixes()) {
    EXPECT_EQ(fix.knobs_size(), 1) << fix.DebugString();
    v1::ResolveConfigRequest fixed = request;
    Apply(fix, &fixed);
    const v1::ResolveConfigResponse answer = Resolved(fixed);
    EXPECT_EQ(answer.outcome(), v1::OUTCOME_RESOLVED);
    EXPECT_EQ(CountOf(answer.findings(), "layout.searched"), 1);
  }
}

}  // namespace
}  // namespace flightplan
