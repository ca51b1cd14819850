#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "tests/support/answers.h"
#include "tests/support/requests.h"

namespace flightplan {
namespace {

using testing::DeepSeekOnH100;
using testing::FindFinding;
using testing::Pin;
using testing::QwenOnSixteen;
using testing::Resolved;
using testing::SetSizes;
using testing::StepUs;
using testing::Training;

// What the answer took from the image of its stack: "te=2.17.1 torch=2.13.0a0 dispatchers=deepep,hybridep"; empty:
// nothing.
std::string TakenFromImage(const v1::ResolveConfigRequest& request) {
  const v1::ResolveConfigResponse answer = Resolved(request);
  const v1::Finding* const image = FindFinding(answer.findings(), "decide.software-from-image");
  if (image == nullptr) return "";
  return absl::StrJoin(image->observed(), " ", [](std::string* out, const v1::KnobSetting& fact) {
    absl::StrAppend(out, fact.name(), "=", fact.value().string_value());
  });
}

// The image says which PyTorch there is: a note about it is for those who must do something.
TEST(SoftwareFromImage, LeavesNothingToAskAboutTorch) {
  v1::ResolveConfigRequest request = DeepSeekOnH100();
  for (const char* const release : {"0.15", "0.16", "0.19", ""}) {
    request.mutable_target()->set_version(release);
    const v1::ResolveConfigResponse answer = Resolved(request);
    EXPECT_EQ(FindFinding(answer.findings(), "launch.numa-binding"), nullptr) << release;
    EXPECT_EQ(FindFinding(answer.findings(), "ep-overlap.torch-2.6"), nullptr) << release;
  }
}

TEST(DispatcherBackends, AreThoseOfTheImageWhereNotSaid) {
  v1::ResolveConfigRequest request = DeepSeekOnH100();
  EXPECT_EQ(TakenFromImage(request), "te=2.17.1 torch=2.13.0a0 dispatchers=deepep,hybridep");
  request.mutable_target()->set_version("0.15");
  EXPECT_EQ(TakenFromImage(request), "te=2.9.0 torch=2.9.0a0 dispatchers=deepep");
  request.mutable_hardware()->set_gpu("a100-sxm-80gb");  // the image's DeepEP is built for Hopper and later
  EXPECT_EQ(TakenFromImage(request), "te=2.9.0 torch=2.9.0a0");
  request.mutable_software()->set_te_version("2.8.0");
  EXPECT_EQ(TakenFromImage(request), "torch=2.9.0a0");
  request.mutable_software()->set_torch_version("2.8.0");
  EXPECT_EQ(TakenFromImage(request), "");
  request.mutable_hardware()->set_gpu("h100-sxm");
  request.mutable_software()->mutable_dispatchers();  // the caller's word: none
  EXPECT_EQ(TakenFromImage(request), "");
}

// LoongForge has no numbers, and its image is not that of the Megatron-Core under it.
TEST(DispatcherBackends, AreThoseOfTheStacksOwnImage) {
  v1::ResolveConfigRequest request = DeepSeekOnH100();
  request.mutable_target()->set_framework("loongforge");
  EXPECT_EQ(TakenFromImage(request), "te=2.9 torch=2.8.0a0 dispatchers=deepep");
  request.mutable_target()->set_framework("megatron-bridge");
  EXPECT_EQ(TakenFromImage(request), "te=2.18.0 torch=2.13.0a0 dispatchers=deepep,hybridep");
  request.mutable_target()->set_version("0.4");
  EXPECT_EQ(TakenFromImage(request), "te=2.14.1 torch=2.11.0a0");
}

double StepWith(v1::ResolveConfigRequest request, std::initializer_list<const char*> backends) {
  request.mutable_software()->set_te_version("2.12.0");
  auto& dispatchers = *request.mutable_software()->mutable_dispatchers();
  for (const char* backend : backends) dispatchers.add_backends(backend);
  return StepUs(Resolved(request));
}

TEST(DispatcherBackends, OneMoreMakesNoStepLonger) {
  v1::ResolveConfigRequest request = DeepSeekOnH100();
  request.mutable_layout()->set_virtual_pipeline_model_parallel_size(4);
  const double none = StepWith(request, {}), deepep = StepWith(request, {"deepep"});
  const double hybridep = StepWith(request, {"hybridep"}), both = StepWith(request, {"deepep", "hybridep"});
  EXPECT_LE(deepep, none);
  EXPECT_LE(hybridep, none);
  EXPECT_LE(both, std::min(deepep, hybridep) * 1.01);
}

// What recipes say of its speed is no reason to run out of memory.
TEST(DispatcherBackends, OneThatDoesNotFitGivesWayToTheAllToAll) {
  v1::ResolveConfigRequest request = Training("qwen3-235b-a22b", "h20-sxm-96gb", 128, 3008, 512);
  SetSizes({.tp = 1, .pp = 1, .ep = 64}, &request);
  request.mutable_target()->set_framework("roll");
  request.set_stage(v1::STAGE_TUNE);
  request.mutable_software()->mutable_dispatchers()->add_backends("hybridep");
  EXPECT_EQ(Resolved(request).outcome(), v1::OUTCOME_RESOLVED);
}

// deepep takes the TP overlap with it, which at TP 8 is worth more than what it saves.
TEST(DispatcherBackends, OneThatCostsTheTensorOverlapIsWeighedWithIt) {
  v1::ResolveConfigRequest request = Training("ling-mini-2.0", "h800-sxm", 64, 16384, 128);
  request.mutable_target()->set_framework("megatron-bridge");
  SetSizes({.tp = 8, .pp = 1, .ep = 8}, &request);
  const double none = StepWith(request, {}), deepep = StepWith(request, {"deepep"});
  EXPECT_LE(deepep, 1.01 * none);
  Pin("tp_comm_overlap", false, &request);  // nothing to regain
  EXPECT_LE(StepWith(request, {"deepep"}), 1.01 * StepWith(request, {}));
}

// LoongForge computes parts of a layer again within its EP overlap: where memory is short that is faster than what goes
// without, and who leaves both open gets it.
TEST(ExpertOverlap, ComesWithTheRecomputeThatItAlonePermits) {
  v1::ResolveConfigRequest request = Training("minimax-m2.5", "gb300-nvl72", 128, 16384, 128);
  request.mutable_target()->set_framework("loongforge");
  request.set_stage(v1::STAGE_TUNE);
  SetSizes({.tp = 1, .pp = 1, .ep = 32}, &request);
  const v1::ResolveConfigResponse open = Resolved(request);
  Pin("overlap_moe_expert_parallel_comm", true, &request);
  EXPECT_LE(StepUs(open), 1.01 * StepUs(Resolved(request)));
}

// ROLL hands no such switch to its optimizer, whoever asks for it: no plan and no forecast counts on it.
TEST(SwitchesLeftOff, MoveNoForecast) {
  v1::ResolveConfigRequest request = Training("qwen1.5-moe-a2.7b", "rtx-pro-6000-server", 16, 8192, 128);
  request.mutable_target()->set_framework("roll");
  request.mutable_software()->set_te_version("2.12.0");
  SetSizes({.tp = 2, .pp = 1, .vpp = 1, .ep = 1}, &request);
  const v1::ResolveConfigResponse open = Resolved(request);
  for (const v1::Decision& decision : open.decisions()) EXPECT_NE(decision.name(), "optimizer_offload_fraction");
  Pin("optimizer_cpu_offload", true, &request);
  v1::KnobSetting* const fraction = request.add_pinned_knobs();
  fraction->set_name("optimizer_offload_fraction");
  fraction->mutable_value()->set_double_value(1);
  const v1::ResolveConfigResponse asked = Resolved(request);
  EXPECT_EQ(StepUs(asked), StepUs(open));
  EXPECT_EQ(asked.estimate().stages(0).total_bytes().value(), open.estimate().stages(0).total_bytes().value());
}

// What a caller who names the backend gets is open to one who does not, its memory included.
TEST(DispatcherBackends, AnOpenOneIsNoSlowerThanOneThatIsNamed) {
  v1::ResolveConfigRequest request = Training("qwen3-vl-30b-a3b", "h100-sxm", 128, 8192, 1024);
  request.mutable_software()->set_te_version("2.12.0");
  request.set_stage(v1::STAGE_TUNE);
  SetSizes({.tp = 1, .pp = 2, .vpp = 2, .ep = 32}, &request);
  const v1::ResolveConfigResponse open = Resolved(request);
  Pin("moe_token_dispatcher_type", "flex", &request);
  Pin("moe_flex_dispatcher_backend", "deepep", &request);
  const v1::ResolveConfigResponse named = Resolved(request);
  EXPECT_EQ(named.outcome(), v1::OUTCOME_RESOLVED);
  EXPECT_LE(StepUs(open), 1.01 * StepUs(named));
}

// So is the step without a word of the caller's that excludes it.
TEST(DispatcherBackends, NameTheOverlapThatAPinExcludes) {
  v1::ResolveConfigRequest request = DeepSeekOnH100();
  const double without_us = StepUs(Resolved(request));
  Pin("moe_shared_expert_overlap", true, &request);
  const v1::ResolveConfigResponse pinned = Resolved(request);
  const double change = without_us / StepUs(pinned) - 1;
  ASSERT_LT(change, -0.02);
  std::string needs;
  for (const v1::Finding& finding : pinned.findings()) {
    if (absl::StrContains(finding.seen(), "excludes EP overlap")) needs = finding.needs();
  }
  EXPECT_TRUE(absl::StrContains(needs, absl::StrFormat("; with the fix: step %+.0f %%,", 100 * change))) << needs;
}

// The step that another library is said to give is that of the answer with it.
TEST(DispatcherBackends, NameTheNvshmemThatLetsDeepepRun) {
  v1::ResolveConfigRequest request = Training("qwen3-235b-a22b", "b200", 128, 4096, 1024);
  request.mutable_target()->set_framework("megatron-bridge");
  SetSizes({.tp = 1, .pp = 8, .ep = 16}, &request);
  const auto named = [](const v1::ResolveConfigResponse& answer) -> std::string {
    for (const v1::Finding& finding : answer.findings()) {
      if (absl::StrContains(finding.needs(), "--package nvshmem=3.4.5")) return finding.needs();
    }
    return "";
  };
  const v1::ResolveConfigResponse before = Resolved(request);
  (*request.mutable_software()->mutable_packages())["nvshmem"] = "3.4.5";
  const v1::ResolveConfigResponse after = Resolved(request);
  const double change = StepUs(after) / StepUs(before) - 1;
  ASSERT_LT(change, -0.02);
  EXPECT_TRUE(absl::StrContains(named(before), absl::StrFormat("step %+.0f %% expected", 100 * change)))
      << named(before) << " against " << change;
  EXPECT_EQ(named(after), "");
}

// One fault is one finding.
TEST(DispatcherBackends, OneThatIsNotInstalledIsSaidOnce) {
  v1::ResolveConfigRequest request = QwenOnSixteen();
  request.mutable_software()->mutable_dispatchers()->add_backends("deepep");
  Pin("moe_token_dispatcher_type", "flex", &request);
  Pin("moe_flex_dispatcher_backend", "hybridep", &request);
  const v1::ResolveConfigResponse response = Resolved(request);
  EXPECT_FALSE(response.will_run());
  const auto names_it = [](const v1::Finding& finding) {
    return finding.severity() == v1::SEVERITY_ERROR && absl::StrContains(finding.seen(), "hybridep");
  };
  EXPECT_EQ(std::count_if(response.findings().begin(), response.findings().end(), names_it), 1);
}

// How a backend was built says nothing of which are installed.
TEST(DispatcherBackends, ATransportAloneLeavesThoseOfTheImage) {
  v1::ResolveConfigRequest request = Training("qwen3-30b-a3b", "h100-sxm", 16, 4096, 128);
  SetSizes({.tp = 1, .pp = 1, .ep = 16}, &request);
  const double step_us = StepUs(Resolved(request));
  request.mutable_software()->mutable_dispatchers()->set_transport("ibgda");
  EXPECT_DOUBLE_EQ(StepUs(Resolved(request)), step_us);
  // Built for NVLink alone they do not leave its domain, and nothing asks them to.
  request.mutable_software()->mutable_dispatchers()->set_transport("nvlink");
  const v1::ResolveConfigResponse inside = Resolved(request);
  EXPECT_GT(StepUs(inside), step_us);
  for (const v1::Finding& finding : inside.findings()) {
    EXPECT_EQ(finding.needs().find("moe_flex_dispatcher_backend"), std::string::npos) << finding.needs();
  }
  request.mutable_software()->mutable_dispatchers()->set_transport("carrier");
  v1::ResolveConfigResponse response;
  EXPECT_EQ(testing::ViolatedFields(testing::TestResolver().ResolveConfig(request, &response)),
            std::set<std::string>({"software.dispatchers.transport"}));
}

// A domain of one node is no larger than a node that the caller says is smaller.
TEST(DispatcherBackends, ADomainReachesNoFurtherThanItsNode) {
  v1::ResolveConfigRequest request = Training("qwen3-30b-a3b", "h100-sxm", 16, 4096, 128);
  SetSizes({.tp = 1, .pp = 1, .ep = 8}, &request);
  const double of_eight = StepUs(Resolved(request));
  request.mutable_hardware()->mutable_fabric()->set_gpus_per_node_count(4);
  EXPECT_GT(StepUs(Resolved(request)), of_eight) << "the exchange runs over the network";
}

}  // namespace
}  // namespace flightplan
