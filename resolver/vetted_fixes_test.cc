// What the trial of a fix lets through, and in which order.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/pipeline/vet_fixes.h"
#include "resolver/plan/config.h"
#include "resolver/plan/finding.h"
#include "tests/support/answers.h"
#include "tests/support/requests.h"

namespace flightplan {
namespace {

using testing::Apply;
using testing::DeepSeekOnH100;
using testing::FindFinding;
using testing::Pin;
using testing::Resolved;
using testing::SetSizes;
using testing::Training;
using testing::Validated;
using testing::WordsOf;
using K = Knob;

constexpr absl::string_view kAsked = "asked.for";

// What is left of the fixes where each of them holds.
std::vector<Patch> Kept(const Config& config, std::vector<Patch> fixes) {
  FixTrial trial;
  trial.config = &config;
  trial.ask = [](const Patch&) { return std::optional(FixOutcome()); };
  std::vector<Finding> findings(1);
  findings[0].rule_id = kAsked;
  findings[0].fixes = std::move(fixes);
  trial.now = OutcomeOf(findings, nullptr, 0);
  VetFixes(trial, &findings);
  return findings[0].fixes;
}

TEST(VettedFixes, ChangeADecisionBeforeTheCallersWord) {
  Config config;
  config.Set(K::offload_modules, Value("moe_act"), Origin::kCaller);
  config.Set(K::recompute_modules, Value("moe"), Origin::kDecided);
  const Patch callers = {{K::offload_modules, "", Value()}};
  const Patch ours = {{K::recompute_modules, "", Value("layernorm")}};
  EXPECT_EQ(Kept(config, {callers, ours}), (std::vector<Patch>{ours, callers}));
}

TEST(VettedFixes, LeaveOutTheOneWithMoreWords) {
  const Patch less = {{K::overlap_moe_expert_parallel_comm, "", Value(false)}};
  Patch more = less;
  more.push_back({K::delay_wgrad_compute, "", Value(false)});
  EXPECT_EQ(Kept({}, {more, less}), std::vector<Patch>{less});
}

TEST(VettedFixes, BringNoWarningOfNaN) {
  const std::vector<Finding> before(1);
  std::vector<Finding> after(1);
  after[0].severity = Severity::kWarning;
  const auto better = [&](absl::string_view brought) {
    after[0].rule_id = brought;
    return IsBetter(OutcomeOf(before, nullptr, 0), OutcomeOf(after, nullptr, 0), kAsked);
  };
  EXPECT_TRUE(better("field.tp-overlap-with-flex"));
  EXPECT_FALSE(better("field.mxfp8-gather-without-overlap"));
}

// Before core 0.18 they are NaN without the overlaps, which a bring-up leaves out.
TEST(VettedFixes, Mxfp8ParametersInTheGradientBufferComeWithTheOverlaps) {
  v1::ResolveConfigRequest request = Training("qwen3-30b-a3b", "b200", 16, 4096, 512);
  request.mutable_workload()->set_precision("mxfp8");
  request.set_stage(v1::STAGE_BRING_UP);
  request.mutable_target()->set_version("0.17");
  SetSizes({.tp = 1, .pp = 1, .ep = 8}, &request);
  const v1::ResolveConfigResponse answer = Resolved(request);
  const v1::Finding* const copies = FindFinding(answer.findings(), "opt.mxfp8-memory");
  ASSERT_NE(copies, nullptr);
  for (const v1::Fix& fix : copies->fixes()) {
    v1::ResolveConfigRequest fixed = request;
    Apply(fix, &fixed);
    EXPECT_EQ(FindFinding(Resolved(fixed).findings(), "field.mxfp8-gather-without-overlap"), nullptr)
        << fix.ShortDebugString();
  }
  ASSERT_EQ(copies->fixes_size(), 1);
  EXPECT_TRUE(absl::StrContains(copies->fixes(0).ShortDebugString(), "overlap_param_gather"));
}

// What is given is moved to the host; of what holds it nothing is computed again as a whole.
TEST(VettedFixes, NoDecisionStandsAgainstWhatTheCallerMovesToTheHost) {
  v1::ResolveConfigRequest request = Training("qwen3-235b-a22b", "gb200-nvl72", 64, 4096, 512);
  SetSizes({.tp = 1, .pp = 8, .vpp = 3, .ep = 8}, &request);
  (*request.mutable_env())["NVTE_CPU_OFFLOAD_V1"] = "1";
  Pin("fine_grained_activation_offloading", true, &request);
  v1::KnobSetting* const offload = request.add_pinned_knobs();
  offload->set_name("offload_modules");
  offload->mutable_value()->mutable_list_value()->add_values()->set_string_value("moe_act");
  const v1::ResolveConfigResponse answer = Resolved(request);
  EXPECT_TRUE(answer.will_run());
  EXPECT_EQ(FindFinding(answer.findings(), "act-offload.inside-moe-recompute"), nullptr);
}

// 61 layers have an even split for one rank alone; a plan without interleaving makes one of its own.
TEST(VettedFixes, TooFewMicrobatchesForVirtualStagesLeaveThemOut) {
  v1::ResolveConfigRequest request = DeepSeekOnH100();
  request.mutable_workload()->set_global_batch_size(128);
  const v1::ResolveConfigResponse answer = Resolved(request);
  const v1::Finding* const range = FindFinding(answer.findings(), "sched.vp-group-range");
  ASSERT_NE(range, nullptr);
  ASSERT_GT(range->fixes_size(), 0);
  Apply(range->fixes(0), &request);
  const v1::ResolveConfigResponse fixed = Resolved(request);
  EXPECT_TRUE(fixed.will_run());
  EXPECT_EQ(fixed.layout().sizes().pipeline_model_parallel_size(), 8);
}

// The user buffers of TP overlap and a flex dispatcher compete.
TEST(VettedFixes, TheFlexDispatcherComesWithoutTpOverlap) {
  v1::ValidateConfigRequest request =
      WordsOf("megatron-lm",
              "--num-layers 8 --hidden-size 2048 --num-attention-heads 16 --seq-length 4096 "
              "--max-position-embeddings 4096 --micro-batch-size 1 --global-batch-size 64 --bf16 --num-experts 8 "
              "--moe-ffn-hidden-size 1024 --moe-router-topk 2 --expert-model-parallel-size 8 "
              "--tensor-model-parallel-size 2 --expert-tensor-parallel-size 1 --sequence-parallel --tp-comm-overlap "
              "--moe-token-dispatcher-type alltoall --moe-router-dtype fp32");
  (*request.mutable_env())["CUDA_DEVICE_MAX_CONNECTIONS"] = "1";
  request.mutable_hardware()->set_gpu("h100-sxm");
  request.mutable_hardware()->set_gpu_count(8);
  const v1::ValidateConfigResponse answer = Validated(request);
  const v1::Finding* const empty = FindFinding(answer.findings(), "field.alltoall-empty-rank");
  ASSERT_NE(empty, nullptr);
  const auto flex = std::find_if(empty->fixes().begin(), empty->fixes().end(), [](const v1::Fix& fix) {
    return absl::StrContains(fix.ShortDebugString(), "moe_token_dispatcher_type");
  });
  ASSERT_NE(flex, empty->fixes().end()) << empty->ShortDebugString();
  EXPECT_TRUE(absl::StrContains(flex->ShortDebugString(), "tp_comm_overlap")) << flex->ShortDebugString();
}

// A stack that is told of 1 virtual stage interleaves, or refuses it without a pipeline.
TEST(VettedFixes, NoInterleavingIsNoSizeOfOne) {
  v1::ResolveConfigRequest request = Training("qwen3-30b-a3b", "h100-sxm", 16, 4096, 128);
  request.mutable_target()->set_framework("megatron-bridge");
  request.mutable_layout()->set_expert_model_parallel_size(8);
  request.mutable_layout()->set_pipeline_model_parallel_size(1);
  const v1::ResolveConfigResponse answer = Resolved(request);
  int seen = 0;
  for (const v1::Finding& finding : answer.findings()) {
    for (const v1::Fix& fix : finding.fixes()) {
      for (const v1::KnobSetting& knob : fix.knobs()) {
        if (knob.name() != "virtual_pipeline_model_parallel_size") continue;
        ++seen;
        EXPECT_FALSE(knob.has_value() && knob.value().has_int_value()) << finding.rule_id();
      }
    }
  }
  EXPECT_GT(seen, 0);
  Pin("virtual_pipeline_model_parallel_size", 1, &request);
  EXPECT_TRUE(Resolved(request).will_run());
}

}  // namespace
}  // namespace flightplan
