#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "absl/strings/match.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "tests/support/answers.h"
#include "tests/support/requests.h"

namespace flightplan {
namespace {

using testing::DeepSeekOnH100;
using testing::FindFinding;
using testing::Pin;
using testing::Resolved;
using testing::SetSizes;
using testing::StepUs;
using testing::Training;

std::string NextStepOf(const v1::ResolveConfigResponse& response) {
  const v1::Finding* const next = FindFinding(response.findings(), "decide.next-step");
  return next == nullptr ? "" : next->seen();
}

TEST(NextStep, FollowsTheProfile) {
  v1::ResolveConfigRequest request = DeepSeekOnH100();
  request.mutable_software()->set_te_version("2.15.0");
  request.mutable_software()->set_torch_version("2.11.0");
  request.mutable_profile()->set_wall(v1::WALL_MEMORY);
  const v1::ResolveConfigResponse memory = Resolved(request);
  EXPECT_NE(NextStepOf(memory).find("memory"), std::string::npos) << NextStepOf(memory);
  request.mutable_profile()->set_wall(v1::WALL_COMMUNICATION);
  const v1::ResolveConfigResponse communication = Resolved(request);
  EXPECT_EQ(NextStepOf(communication).find("memory"), std::string::npos);
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

// The layers given to the stages otherwise, where the pipeline waits for its last one, and what comes of it.
TEST(NextStep, MayBeABetterSplitOfTheLayers) {
  v1::ResolveConfigRequest request = Training("qwen3-14b", "h100-sxm", 32, 4096, 128);
  request.set_stage(v1::STAGE_TUNE);
  SetSizes({.tp = 1, .pp = 4, .vpp = 1}, &request);
  const v1::ResolveConfigResponse before = Resolved(request);
  const auto split =
      std::find_if(before.ab_suggestions().begin(), before.ab_suggestions().end(),
                   [](const v1::AbSuggestion& ab) { return ab.knob() == "pipeline_model_parallel_layout"; });
  ASSERT_NE(split, before.ab_suggestions().end());
  request.mutable_layout()->set_pipeline_model_parallel_layout(split->other_value().string_value());
  const v1::ResolveConfigResponse after = Resolved(request);
  EXPECT_EQ(after.outcome(), v1::OUTCOME_RESOLVED);
  EXPECT_LT(split->expected_step_ratio().value(), -0.02);
  EXPECT_NEAR(StepUs(after) / StepUs(before) - 1, split->expected_step_ratio().value(), 0.005);
}

// FP8 comes last: where compute is the wall and nothing else gains, and never without a word about the numerics.
TEST(NextStep, IsFp8WhereNothingElseGains) {
  v1::ResolveConfigRequest request = Training("llama-3.1-70b", "b200", 64, 4096, 512);
  request.mutable_software()->set_te_version("2.12.0");
  SetSizes({.tp = 2, .pp = 4, .vpp = 1}, &request);
  const auto next = [&](v1::Stage stage) {
    request.set_stage(stage);
    const v1::ResolveConfigResponse answer = Resolved(request);
    const v1::Finding* const found = FindFinding(answer.findings(), "decide.next-step");
    return found == nullptr ? std::string() : found->needs();
  };
  const std::string needs = next(v1::STAGE_TUNE);
  EXPECT_TRUE(absl::StrContains(needs, "fp8_recipe=mxfp8") && absl::StrContains(needs, "numerics")) << needs;
  EXPECT_FALSE(absl::StrContains(next(v1::STAGE_BRING_UP), "fp8"));
}

// No sentence of the answer, and no side of its A/B, puts attention's graphs beside EP overlap.
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

}  // namespace
}  // namespace flightplan
