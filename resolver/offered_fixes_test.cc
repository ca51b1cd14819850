// What the fixes of a resolved question say of themselves, and that they hold it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/strings/match.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/resolver.h"
#include "tests/support/answers.h"
#include "tests/support/requests.h"

namespace flightplan {
namespace {

using testing::Apply;
using testing::FindFinding;
using testing::Pin;
using testing::Resolved;
using testing::SetSizes;
using testing::Training;

// Graphs and EP overlap together may spoil gradients; without the graphs a step takes longer, which is no secret.
TEST(OfferedFixes, TheFixOfAFieldReportSaysWhatItCosts) {
  v1::ResolveConfigRequest request = Training("qwen3-30b-a3b", "h100", 16, 4096, 128);
  SetSizes({.tp = 1, .pp = 1, .ep = 16}, &request);
  Pin("overlap_moe_expert_parallel_comm", true, &request);
  Pin("cuda_graph_impl", "transformer_engine", &request);
  v1::KnobSetting& modules = *request.add_pinned_knobs();
  modules.set_name("cuda_graph_modules");
  modules.mutable_value()->mutable_list_value()->add_values()->set_string_value("attn");
  const v1::ResolveConfigResponse response = Resolved(request);
  const v1::Finding* const graphed = FindFinding(response.findings(), "field.graphed-attention-ep-overlap");
  ASSERT_NE(graphed, nullptr);
  ASSERT_GT(graphed->fixes_size(), 0);
  EXPECT_NE(graphed->needs().find("; with the fix: step +"), std::string::npos) << graphed->needs();
}

// The native kernel needs a buffer of its own, for which there is no room at this microbatch; that of this Transformer
// Engine works in place.
TEST(OfferedFixes, AFixThatLacksMemoryComesWithRoomForIt) {
  for (const char* stack : {"megatron-bridge", "ms-swift", "verl"}) {
    v1::ResolveConfigRequest request = Training("qwen3-30b-a3b", "h100", 16, 4096, 448);
    request.mutable_software()->set_te_version("2.17.1");
    request.mutable_target()->set_framework(stack);
    SetSizes({.tp = 2, .pp = 2, .vpp = 6, .ep = 4}, &request);
    request.mutable_layout()->set_micro_batch_size(14);
    Pin("cross_entropy_fusion_impl", "te", &request);
    const v1::ResolveConfigResponse response = Resolved(request);
    const v1::Finding* const unstable = FindFinding(response.findings(), "ce-fusion.te-unstable");
    ASSERT_NE(unstable, nullptr) << stack;
    ASSERT_EQ(unstable->fixes_size(), 1) << stack;
    EXPECT_NE(unstable->needs().find("; with the fix: step +"), std::string::npos) << unstable->needs();
    for (const v1::KnobSetting& setting : unstable->fixes(0).knobs()) {
      if (setting.name() == "micro_batch_size") {
        request.mutable_layout()->set_micro_batch_size(static_cast<int32_t>(setting.value().int_value()));
      } else {
        Pin(setting.name(), setting.value(), &request);
      }
    }
    request.mutable_pinned_knobs()->DeleteSubrange(0, 1);
    const v1::ResolveConfigResponse fixed = Resolved(request);
    EXPECT_EQ(FindFinding(fixed.findings(), "ce-fusion.te-unstable"), nullptr) << stack;
    EXPECT_EQ(fixed.estimate().fit(), response.estimate().fit()) << stack;
  }
}

// The plan of the fixed question has no room for graphs, which no word of the fix says.
TEST(OfferedFixes, AFixSaysThatGraphsGoWithIt) {
  v1::ResolveConfigRequest request = Training("qwen3-30b-a3b", "h100-sxm", 16, 4096, 128);
  request.mutable_target()->set_framework("megatron-bridge");
  request.mutable_software()->set_te_version("2.17.1");  // which writes the loss's gradient in place
  SetSizes({.tp = 1, .pp = 1, .vpp = 1, .ep = 4}, &request);
  request.mutable_layout()->set_context_parallel_size(1);
  request.mutable_layout()->set_micro_batch_size(2);
  Pin("peft.scheme", "lora", &request);
  const v1::ResolveConfigResponse response = Resolved(request);
  const v1::Finding* const unstable = FindFinding(response.findings(), "ce-fusion.te-unstable");
  ASSERT_NE(unstable, nullptr);
  ASSERT_EQ(unstable->fixes_size(), 1);
  EXPECT_NE(unstable->needs().find(", and cuda_graph_impl=none"), std::string::npos) << unstable->needs();
  Apply(unstable->fixes(0), &request);
  const v1::ResolveConfigResponse fixed = Resolved(request);
  const auto graphs = std::find_if(fixed.config().begin(), fixed.config().end(),
                                   [](const v1::ConfigEntry& entry) { return entry.name() == "cuda_graph_impl"; });
  ASSERT_NE(graphs, fixed.config().end());
  EXPECT_EQ(graphs->value().string_value(), "none");
}

// No word of FP8 beside the precision: --precision bf16 is the whole fix.
TEST(OfferedFixes, WithoutFp8NothingOfItIsLeftToTakeBack) {
  v1::ResolveConfigRequest request = Training("qwen3-30b-a3b", "a100-sxm-80gb", 64, 4096, 512);
  request.mutable_workload()->set_precision("fp8_block");
  const v1::ResolveConfigResponse response = Resolved(request);
  const v1::Finding* const old = FindFinding(response.findings(), "gpu-gate.fp8-needs-ada");
  ASSERT_NE(old, nullptr);
  ASSERT_EQ(old->fixes_size(), 1);
  EXPECT_EQ(old->fixes(0).knobs_size(), 1) << old->fixes(0).ShortDebugString();
  EXPECT_EQ(old->fixes(0).knobs(0).name(), "fp8");
  request.mutable_workload()->set_precision("bf16");
  EXPECT_TRUE(Resolved(request).will_run());
}

// A fix takes back no choice of ours that goes with the rest of it: --unset of a knob that nobody set.
TEST(OfferedFixes, AFixHasNoMoreWordsThanHold) {
  v1::ResolveConfigRequest request = Training("minimax-m2.5", "h200-sxm", 64, 4096, 512);
  request.mutable_target()->set_framework("primus");
  request.mutable_workload()->set_precision("mxfp8");
  request.set_stage(v1::STAGE_BRING_UP);
  SetSizes({.tp = 1, .pp = 3, .ep = 8}, &request);
  Pin("cuda_graph_impl", "transformer_engine", &request);
  Pin("recompute_granularity", "full", &request);
  const v1::ResolveConfigResponse response = Resolved(request);
  int seen = 0;
  for (const v1::Finding& finding : response.findings()) {
    for (const v1::Fix& fix : finding.fixes()) {
      if (fix.knobs().empty() || fix.knobs(0).name() != "recompute_granularity") continue;
      ++seen;
      EXPECT_EQ(fix.knobs_size(), 1) << finding.rule_id() << ": " << fix.ShortDebugString();
    }
  }
  EXPECT_GT(seen, 0);
}

// One fix of the rule takes the layers' pattern away, and with it the model that the question names.
TEST(OfferedFixes, NoneBuildsAnotherModel) {
  v1::ResolveConfigRequest request = Training("nemotron-h-56b", "h100-sxm", 256, 4096, 512);
  SetSizes({.tp = 8, .pp = 1, .vpp = 2}, &request);
  const v1::ResolveConfigResponse answer = Resolved(request);
  const v1::Finding* const stages = FindFinding(answer.findings(), "mlm.interleaved-needs-pp2");
  ASSERT_NE(stages, nullptr);
  ASSERT_GT(stages->fixes_size(), 0);
  for (const v1::Fix& fix : stages->fixes()) {
    EXPECT_FALSE(absl::StrContains(fix.ShortDebugString(), "hybrid_layer_pattern")) << fix.ShortDebugString();
  }
}

// Two values for one knob cannot both be followed: of 16 ranks and of 128 experts 16 is a divisor.
TEST(OfferedFixes, TwoErrorsOfOneKnobHaveOneFix) {
  v1::ResolveConfigRequest request = Training("qwen3-30b-a3b", "h100-sxm", 16, 4096, 128);
  SetSizes({.tp = 1, .pp = 1, .ep = 256}, &request);
  const v1::ResolveConfigResponse answer = Resolved(request);
  for (const char* id : {"mesh.expert-world-divisible", "mlm.experts-divisible-ep"}) {
    const v1::Finding* const error = FindFinding(answer.findings(), id);
    ASSERT_NE(error, nullptr) << id;
    ASSERT_GT(error->fixes_size(), 0) << id;
    ASSERT_EQ(error->fixes(0).knobs_size(), 1) << id;
    EXPECT_EQ(error->fixes(0).knobs(0).value().int_value(), 16) << id;
  }
}

// The launch stops at its grid: no batch was held against replicas that there are not.
TEST(OfferedFixes, AGridThatDoesNotDivideIsNoFaultOfTheBatch) {
  v1::ResolveConfigRequest request = Training("qwen3-30b-a3b", "h100-sxm", 16, 4096, 128);
  SetSizes({.tp = 3, .pp = 1, .ep = 8}, &request);
  const v1::ResolveConfigResponse answer = Resolved(request);
  EXPECT_NE(FindFinding(answer.findings(), "mlm.world-divisible"), nullptr);
  EXPECT_EQ(FindFinding(answer.findings(), "mlm.gbs-divisible"), nullptr);
}

TEST(OfferedFixes, OffersNoExpertSizeToADenseModel) {
  v1::ResolveConfigRequest request = Training("qwen3-8b", "h100-sxm", 8, 4096, 64);
  SetSizes({.tp = 3, .pp = 1}, &request);
  const v1::ResolveConfigResponse answer = Resolved(request);
  const v1::Finding* const grid = FindFinding(answer.findings(), "mesh.expert-world-divisible");
  ASSERT_NE(grid, nullptr);
  ASSERT_GT(grid->fixes_size(), 0);
  for (const v1::Fix& fix : grid->fixes()) {
    EXPECT_FALSE(absl::StrContains(fix.ShortDebugString(), "expert")) << fix.ShortDebugString();
  }
}

// Of 60 experts 6 is the next smaller divisor, but none of 8 GPUs.
TEST(OfferedFixes, AnExpertSizeThatTheGpusHaveToo) {
  v1::ResolveConfigRequest request = Training("qwen1.5-moe-a2.7b", "h100-sxm", 8, 4096, 64);
  request.mutable_layout()->set_expert_model_parallel_size(8);
  const v1::ResolveConfigResponse answer = Resolved(request);
  const v1::Finding* const error = FindFinding(answer.findings(), "mlm.experts-divisible-ep");
  ASSERT_NE(error, nullptr);
  ASSERT_GT(error->fixes_size(), 0);
  EXPECT_EQ(error->fixes(0).knobs(0).value().int_value(), 4);
}

TEST(OfferedFixes, Mxfp8ThatTransformerEngineRefusesBecomesARecipeThatRuns) {
  v1::ResolveConfigRequest request = Training("qwen3-8b", "rtx-pro-6000-server", 8, 4096, 64);
  request.mutable_workload()->set_precision("mxfp8");
  const v1::ResolveConfigResponse answer = Resolved(request);
  const v1::Finding* const error = FindFinding(answer.findings(), "gpu-gate.mxfp8-not-on-12.0");
  ASSERT_NE(error, nullptr);
  ASSERT_GT(error->fixes_size(), 0);
  Apply(error->fixes(0), &request);
  EXPECT_EQ(FindFinding(Resolved(request).findings(), "gpu-gate.mxfp8-not-on-12.0"), nullptr);
}

TEST(OfferedFixes, Fp8OfUnevenTokensHasALengthThatIsEven) {
  v1::ResolveConfigRequest request = Training("llama-3.1-8b", "h100-sxm", 8, 4097, 64);
  request.mutable_workload()->set_precision("fp8_block");
  const v1::ResolveConfigResponse answer = Resolved(request);
  const v1::Finding* const error = FindFinding(answer.findings(), "fp8.tokens-multiple-of-8");
  ASSERT_NE(error, nullptr);
  ASSERT_EQ(error->fixes_size(), 2);
  EXPECT_EQ(error->fixes(1).knobs(0).value().int_value(), 4104) << error->fixes(1).ShortDebugString();
}

}  // namespace
}  // namespace flightplan
