#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "flightplan/v1/catalog_service.pb.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/catalog/catalog.h"
#include "resolver/explain/catalog_answers.h"
#include "resolver/normalize/canonical_bytes.h"
#include "resolver/plan/knob.h"
#include "resolver/resolver.h"
#include "tests/support/answers.h"
#include "tests/support/requests.h"

namespace flightplan {
namespace {

using testing::CountOf;
using testing::DeepSeekOnH100;
using testing::DropAdvice;
using testing::Errors;
using testing::FileOf;
using testing::FindEntry;
using testing::FindFinding;
using testing::Pin;
using testing::QwenOnSixteen;
using testing::Resolved;
using testing::SetSizes;
using testing::StepUs;
using testing::TestResolver;
using testing::Training;
using testing::Validated;

TEST(ResolveConfig, CompletesDeepSeekV3OnEveryTarget) {
  for (const char* target : {"megatron-lm", "megatron-bridge", "loongforge"}) {
    v1::ResolveConfigRequest request = DeepSeekOnH100();
    request.mutable_target()->set_framework(target);
    const v1::ResolveConfigResponse response = Resolved(request);
    EXPECT_EQ(Errors(response.findings()), std::set<std::string>()) << target;
    EXPECT_EQ(response.outcome(), v1::OUTCOME_RESOLVED) << target;
    EXPECT_GT(response.config_size(), 60) << target;
    EXPECT_GT(response.decisions_size(), 15) << target;
    ASSERT_EQ(response.launches_size(), 1) << target;
    EXPECT_FALSE(response.launches(0).text().empty()) << target;
    EXPECT_EQ(response.layout().data_parallel_size(), 64) << target;
    EXPECT_EQ(response.layout().expert_data_parallel_size(), 2) << target;
  }
}

// What GetModel answers may be sent back as the request's model: nothing that a decision depends on is lost on the way.
TEST(ResolveConfig, AModelSpelledOutIsTheOneOfThatName) {
  const auto catalog = std::make_shared<const Catalog>(*Catalog::Builtin());
  const CatalogAnswers answers(catalog);
  for (const ModelSpec& model : catalog->models()) {
    v1::ResolveConfigRequest named = DeepSeekOnH100();
    named.mutable_layout()->clear_expert_model_parallel_size();
    named.mutable_layout()->clear_virtual_pipeline_model_parallel_size();
    named.mutable_layout()->set_pipeline_model_parallel_size(1);
    named.mutable_model()->set_name(model.name);
    v1::ResolveConfigRequest spelled = named;
    v1::GetModelRequest get;
    get.set_name(model.name);
    ASSERT_TRUE(answers.GetModel(get, spelled.mutable_model()->mutable_spec()).ok());
    v1::ResolveConfigResponse expected, actual;
    const absl::Status first = TestResolver().ResolveConfig(named, &expected);
    const absl::Status second = TestResolver().ResolveConfig(spelled, &actual);
    ASSERT_EQ(first, second) << model.name;
    for (v1::ResolveConfigResponse* response : {&expected, &actual}) {
      response->clear_model();  // parameter counts, sources and notes are the catalogue's
      response->clear_digest();
    }
    EXPECT_EQ(actual.DebugString(), expected.DebugString()) << model.name;
  }
}

// The answer is written by hand, field by field: every field must stand where the deterministic serialization has it.
TEST(ResolveConfig, BytesAreThoseOfTheMessage) {
  for (const char* framework : {"megatron-lm", "megatron-bridge", "loongforge"}) {
    v1::ResolveConfigRequest request = DeepSeekOnH100();
    request.mutable_target()->set_framework(framework);
    request.mutable_software()->set_te_version("1.13");  // findings of every kind, with fixes
    (*request.mutable_env())["NCCL_DEBUG"] = "INFO";
    ConfigAnswer answer;
    const absl::Status status = TestResolver().AnswerResolve(request, EvidenceSnapshot::Empty(), &answer);
    ASSERT_TRUE(status.ok()) << framework << ": " << status;
    v1::ResolveConfigResponse response;
    ASSERT_TRUE(response.ParseFromArray(answer.bytes.data(), static_cast<int>(answer.bytes.size()))) << framework;
    EXPECT_GT(response.config_size(), 0);
    EXPECT_TRUE(CanonicalBytes(response) == answer.bytes.view()) << framework;
    EXPECT_EQ(response.digest(), answer.digest);
    EXPECT_EQ(static_cast<size_t>(response.findings_size()), answer.findings.size());
    if (response.launches_size() == 0) continue;

    v1::ValidateConfigRequest launch;
    for (const std::string& argument : response.launches(0).argv()) launch.mutable_arguments()->add_values(argument);
    *launch.mutable_target() = request.target();
    *launch.mutable_hardware() = request.hardware();
    launch.set_repair(true);
    (*launch.mutable_env())["NCCL_DEBUG"] = "INFO";
    (*launch.mutable_env())["CUDA_DEVICE_MAX_CONNECTIONS"] = "1";
    ConfigAnswer judged;
    ASSERT_TRUE(TestResolver().AnswerValidate(launch, EvidenceSnapshot::Empty(), &judged).ok()) << framework;
    v1::ValidateConfigResponse verdict;
    ASSERT_TRUE(verdict.ParseFromArray(judged.bytes.data(), static_cast<int>(judged.bytes.size()))) << framework;
    EXPECT_GT(verdict.env_size(), 0);
    EXPECT_TRUE(CanonicalBytes(verdict) == judged.bytes.view()) << framework;
    EXPECT_EQ(verdict.will_run(), judged.will_run);
  }
}

TEST(ResolveConfig, SameRequestSameBytes) {
  const v1::ResolveConfigResponse first = Resolved(DeepSeekOnH100()), second = Resolved(DeepSeekOnH100());
  EXPECT_EQ(first.digest(), second.digest());
  EXPECT_EQ(first.ShortDebugString(), second.ShortDebugString());
  v1::ResolveConfigRequest other = DeepSeekOnH100();
  other.mutable_workload()->set_global_batch_size(4096);
  EXPECT_NE(first.digest(), Resolved(other).digest());
}

TEST(ResolveConfig, ForecastsTheStepAndWhatToChangeNext) {
  v1::ResolveConfigRequest request = DeepSeekOnH100();
  request.mutable_software()->set_te_version("2.15.0");
  request.mutable_software()->set_torch_version("2.11.0");
  const v1::ResolveConfigResponse response = Resolved(request);
  const v1::Estimate& estimate = response.estimate();
  EXPECT_LT(estimate.step_time_us().low(), estimate.step_time_us().value());
  EXPECT_GT(estimate.step_time_us().high(), estimate.step_time_us().value());
  EXPECT_GT(estimate.step_flops(), 0);
  EXPECT_NEAR(estimate.tokens_per_second_per_gpu() * request.hardware().gpu_count(), estimate.tokens_per_second(), 1);
  EXPECT_GT(estimate.flops_per_second_per_gpu(), 1e13);
  EXPECT_LT(estimate.flops_per_second_per_gpu(), estimate.peak_flops_per_second());
  double exposed = 0;
  for (const v1::CommunicationPath& path : estimate.communication()) exposed += path.exposed_us();
  EXPECT_NEAR(exposed, estimate.wall_ratios().at("communication") * estimate.step_time_us().value(), 1);
  double sum = 0;
  for (const auto& [name, ratio] : estimate.wall_ratios()) sum += ratio;
  EXPECT_NEAR(sum, 1, 1e-6);

  // What a run showed stands in place of the forecast.
  request.mutable_profile()->set_step_time_us(5e7);
  request.mutable_profile()->set_host_gap_ratio(0.7);
  const v1::ResolveConfigResponse measured = Resolved(request);
  EXPECT_EQ(measured.estimate().step_time_us().value(), 5e7);
  EXPECT_DOUBLE_EQ(measured.estimate().wall_ratios().at("host"), 0.7);
}

// The launch has ten nodes of six where the forecast has nodes of eight.
TEST(ResolveConfig, SaysWhatBecomesOfPartNodes) {
  v1::ResolveConfigRequest request = Training("qwen3-30b-a3b", "h100-sxm", 60, 4096, 480);
  SetSizes({.tp = 1, .pp = 1, .ep = 4}, &request);
  const v1::ResolveConfigResponse answer = Resolved(request);
  const v1::Finding* const part = FindFinding(answer.findings(), "launch.partial-nodes");
  ASSERT_NE(part, nullptr);
  EXPECT_EQ(part->seen(), "60 GPUs are no whole nodes of 8: the launch starts 10 nodes with 6 GPUs each");
  ASSERT_GT(answer.launches_size(), 0);
  EXPECT_NE(answer.launches(0).text().find("--nnodes 10 --nproc-per-node 6"), std::string::npos);
  request.mutable_hardware()->mutable_fabric()->set_gpus_per_node_count(6);
  EXPECT_EQ(FindFinding(Resolved(request).findings(), "launch.partial-nodes"), nullptr);
}

TEST(ResolveConfig, NeverChangesAPin) {
  v1::ResolveConfigRequest request = DeepSeekOnH100();
  request.mutable_knobs()->set_moe_shared_expert_overlap(true);
  request.mutable_knobs()->set_overlap_moe_expert_parallel_comm(true);
  const v1::ResolveConfigResponse response = Resolved(request);
  EXPECT_EQ(response.outcome(), v1::OUTCOME_INFEASIBLE);
  EXPECT_FALSE(Errors(response.findings()).empty());
  for (const v1::Decision& decision : response.decisions()) {
    if (decision.name() != "moe_shared_expert_overlap" && decision.name() != "overlap_moe_expert_parallel_comm")
      continue;
    EXPECT_EQ(decision.basis(), v1::BASIS_CALLER) << decision.name();
    EXPECT_TRUE(decision.value().bool_value()) << decision.name();
  }
}

// What a view leaves out is known; the rest is the same to the byte.
v1::ResolveConfigResponse Part(v1::ResolveConfigResponse whole, v1::AnswerView view) {
  whole.clear_config();
  whole.clear_decisions();
  whole.clear_effective_changes();
  whole.clear_ab_suggestions();
  whole.clear_model();
  auto* const findings = whole.mutable_findings();
  findings->erase(
      std::remove_if(findings->begin(), findings->end(), [](const v1::Finding& f) { return f.area() == "next-step"; }),
      findings->end());
  DropAdvice(findings);
  if (view == v1::ANSWER_VIEW_VERDICT) {
    whole.clear_estimate();
    whole.clear_launches();
    whole.clear_layout();
  }
  return whole;
}

// What a release's words cannot say of a model is a fault without a fix: each other word is another model.
TEST(ResolveConfig, OffersNoOtherModelThanTheOneThatIsAskedFor) {
  v1::ResolveConfigRequest request = Training("gpt-oss-120b", "h100-sxm", 64, 4096, 512);
  for (const auto& [stack, release] : {std::pair("loongforge", ""), std::pair("megatron-lm", "0.17")}) {
    request.mutable_target()->set_framework(stack);
    request.mutable_target()->set_version(release);
    const v1::ResolveConfigResponse answer = Resolved(request);
    const v1::Finding* const yarn = FindFinding(answer.findings(), "mlm.argparse");
    ASSERT_NE(yarn, nullptr) << stack;
    EXPECT_TRUE(absl::StrContains(yarn->seen(), "--position-embedding-type yarn")) << yarn->seen();
    EXPECT_EQ(yarn->fixes_size(), 0) << yarn->ShortDebugString();
  }
}

TEST(ResolveConfig, AViewShowsAPartOfTheSameAnswer) {
  for (v1::ResolveConfigRequest request : {DeepSeekOnH100(), QwenOnSixteen()}) {  // a given layout, and an open one
    const v1::ResolveConfigResponse full = Resolved(request);
    for (const v1::AnswerView view : {v1::ANSWER_VIEW_VERDICT, v1::ANSWER_VIEW_BASIC, v1::ANSWER_VIEW_FULL}) {
      request.set_view(view);
      const v1::ResolveConfigResponse response = Resolved(request);
      const v1::ResolveConfigResponse expected = view == v1::ANSWER_VIEW_FULL ? full : Part(full, view);
      EXPECT_EQ(CanonicalBytes(response), CanonicalBytes(expected)) << request.ShortDebugString();
    }
  }
}

// What was decided is the same step as the caller's word, also where memory is so tight that recompute would be another
// one if it were asked for beside EP overlap.
TEST(ResolveConfig, ItsOwnDecisionsGivenBackAreTheSameStep) {
  v1::ResolveConfigRequest request = Training("glm-4.5-air", "rtx-pro-6000-server", 32, 8192, 256);
  request.mutable_target()->set_framework("megatron-bridge");
  SetSizes({.tp = 4, .pp = 2, .ep = 16}, &request);
  const v1::ResolveConfigResponse decided = Resolved(request);
  bool overlapped = false;
  for (const v1::Decision& decision : decided.decisions()) {
    if (!FindKnob(decision.name()).has_value()) continue;
    overlapped |= decision.name() == "overlap_moe_expert_parallel_comm" && decision.value().bool_value();
    Pin(decision.name(), decision.value(), &request);
  }
  ASSERT_TRUE(overlapped);
  const v1::ResolveConfigResponse given = Resolved(request);
  EXPECT_NEAR(StepUs(given) / StepUs(decided), 1, 0.01);
}

// Where shared experts take a plan off the flex dispatcher, its backend goes too: to leave it is a finding of its own.
TEST(ResolveConfig, WhatLeavesFlexLeavesNoBackend) {
  v1::ResolveConfigRequest request = Training("qwen2-57b-a14b", "gb200-nvl16-or-partial", 256, 16384, 256);
  request.mutable_target()->set_framework("vime");
  request.mutable_workload()->set_precision("fp8_cs");
  SetSizes({.tp = 8, .pp = 4, .ep = 4}, &request);
  request.mutable_software()->mutable_dispatchers()->add_backends("hybridep");
  Pin("moe_shared_expert_overlap", true, &request);
  const v1::ResolveConfigResponse response = Resolved(request);
  EXPECT_EQ(FindFinding(response.findings(), "field.backend-without-flex"), nullptr);
}

// A pin is the narrower word. The layout that is printed is the one that is launched.
TEST(ResolveConfig, APinOfNoneIsOverTheLayout) {
  v1::ResolveConfigRequest request = QwenOnSixteen();
  SetSizes({.tp = 1, .pp = 2, .ep = 4}, &request);
  const v1::ResolveConfigResponse without = [&] {
    v1::ResolveConfigRequest one = request;
    one.mutable_layout()->set_virtual_pipeline_model_parallel_size(1);
    return Resolved(one);
  }();
  request.mutable_layout()->set_virtual_pipeline_model_parallel_size(3);
  request.add_pinned_knobs()->set_name("virtual_pipeline_model_parallel_size");
  const v1::ResolveConfigResponse pinned = Resolved(request);
  EXPECT_LE(pinned.layout().sizes().virtual_pipeline_model_parallel_size(), 1);
  EXPECT_EQ(StepUs(pinned), StepUs(without));

  request.mutable_layout()->set_pipeline_model_parallel_layout("Et*24|t*24L");
  request.add_pinned_knobs()->set_name("pipeline_model_parallel_layout");
  const v1::ResolveConfigResponse even = Resolved(request);
  EXPECT_FALSE(even.layout().sizes().has_pipeline_model_parallel_layout());
  request.mutable_layout()->clear_pipeline_model_parallel_layout();
  EXPECT_EQ(StepUs(even), StepUs(Resolved(request)));
}

// "Full" is a whole wish: how it is divided is left to us, as is the layout beside it.
TEST(ResolveConfig, CompletesFullRecomputeThatTheCallerAsksFor) {
  v1::ResolveConfigRequest request = Training("qwen3-30b-a3b", "h100-sxm", 16, 8192, 128);
  SetSizes({.pp = 2, .ep = 8}, &request);
  Pin("recompute_granularity", "full", &request);
  const v1::ResolveConfigResponse response = Resolved(request);
  EXPECT_EQ(response.outcome(), v1::OUTCOME_RESOLVED);
  std::string method;
  for (const v1::ConfigEntry& entry : response.config()) {
    if (entry.name() == "recompute_method") method = entry.value().string_value();
  }
  EXPECT_EQ(method, "uniform");
}

TEST(ResolveConfig, CompletesAnOffloadThatTheCallerAsksFor) {
  v1::ResolveConfigRequest request = DeepSeekOnH100();
  Pin("optimizer_cpu_offload", true, &request);
  const v1::ResolveConfigResponse response = Resolved(request);
  EXPECT_EQ(response.outcome(), v1::OUTCOME_RESOLVED);
  EXPECT_EQ(Errors(response.findings()), std::set<std::string>());
  // What the caller says against it stays, with the error.
  Pin("use_precision_aware_optimizer", false, &request);
  EXPECT_EQ(Resolved(request).outcome(), v1::OUTCOME_INFEASIBLE);
}

// Where the stack takes a decision back, memory is that of what is printed.
TEST(ResolveConfig, WeighsMemoryOfWhatIsPrinted) {
  v1::ResolveConfigRequest request = Training("deepseek-v4-pro", "b300-sxm", 512, 4096, 1024);
  request.mutable_software()->set_te_version("2.12.0");
  request.set_stage(v1::STAGE_TUNE);
  SetSizes({.tp = 1, .pp = 8, .ep = 64}, &request);
  Pin("overlap_moe_expert_parallel_comm", true, &request);
  const v1::ResolveConfigResponse open = Resolved(request);
  for (const v1::ConfigEntry& entry : open.config()) {
    if (entry.name() != "virtual_pipeline_model_parallel_size") continue;
    request.mutable_layout()->set_virtual_pipeline_model_parallel_size(
        std::max(1, static_cast<int>(entry.value().int_value())));
  }
  for (const v1::Decision& decision : open.decisions()) {
    if (!absl::StartsWith(decision.name(), "recompute") && !absl::StartsWith(decision.name(), "optimizer")) continue;
    Pin(decision.name(), decision.value(), &request);
  }
  const v1::ResolveConfigResponse given = Resolved(request);
  EXPECT_NEAR(open.estimate().stages(0).total_bytes().value(), given.estimate().stages(0).total_bytes().value(),
              0.01 * given.estimate().stages(0).total_bytes().value());
  EXPECT_EQ(open.outcome(), given.outcome());
}

TEST(ResolveConfig, AVerdictIsSmall) {
  v1::ResolveConfigRequest request = DeepSeekOnH100();
  request.set_view(v1::ANSWER_VIEW_VERDICT);
  const v1::ResolveConfigResponse response = Resolved(request);
  EXPECT_GT(response.findings_size(), 0);
  EXPECT_LE(response.ByteSizeLong(), 4096U);
}

// No rank holds a quarter of an expert, so nothing is said of what it would take.
TEST(ResolveConfig, ExpertsThatDoNotDivideHaveNoForecast) {
  v1::ResolveConfigRequest request = Training("mixtral-8x7b", "h100", 256, 4096, 2048);
  SetSizes({.tp = 1, .pp = 4, .ep = 32}, &request);
  const v1::ResolveConfigResponse answer = Resolved(request);
  EXPECT_FALSE(answer.will_run());
  EXPECT_EQ(answer.estimate().stages_size(), 0);
  EXPECT_FALSE(answer.estimate().has_step_time_us());
  EXPECT_EQ(answer.estimate().fit(), v1::FIT_VERDICT_UNKNOWN);
}

// The class default of these releases is an old name that upstream warns of, whatever is captured.
TEST(ResolveConfig, NamesNoOldGraphScopeWhereNothingIsCaptured) {
  for (const char* const stack : {"nemo-rl", "verl", "roll", "ms-swift"}) {
    v1::ResolveConfigRequest request = QwenOnSixteen();
    request.mutable_target()->set_framework(stack);
    request.mutable_target()->clear_version();
    v1::KnobSetting* const pin = request.add_pinned_knobs();
    pin->set_name("cuda_graph_impl");
    pin->mutable_value()->set_string_value("none");
    EXPECT_EQ(CountOf(Resolved(request).findings(), "cuda-graph.full-deprecated"), 0) << stack;
    v1::KnobSetting* const named = request.add_pinned_knobs();
    named->set_name("cuda_graph_modules");
    named->mutable_value()->set_string_value("full");
    EXPECT_EQ(CountOf(Resolved(request).findings(), "cuda-graph.full-deprecated"), 1)
        << stack << ", as the caller says";
  }
  // The list of Bridge 0.4 still has the old knob's name.
  v1::ResolveConfigRequest older = QwenOnSixteen();
  older.mutable_target()->set_framework("megatron-bridge");
  older.mutable_target()->set_version("0.4");
  v1::KnobSetting* const pin = older.add_pinned_knobs();
  pin->set_name("cuda_graph_impl");
  pin->mutable_value()->set_string_value("none");
  EXPECT_EQ(CountOf(Resolved(older).findings(), "cuda-graph.full-deprecated"), 0);
}

// A model's file of LoongForge says its sizes alone: what a launch leaves out has the class's default, so that the text
// would train another model than the one that was forecast.
TEST(ResolveConfig, ALaunchOfLoongForgeTrainsTheModel) {
  v1::ResolveConfigRequest request = QwenOnSixteen();
  request.mutable_target()->set_framework("loongforge");
  request.mutable_target()->clear_version();
  const v1::ResolveConfigResponse plan = Resolved(request);
  ASSERT_NE(FindEntry(plan.config(), "moe_router_topk"), nullptr);
  EXPECT_EQ(FindEntry(plan.config(), "moe_router_topk")->value().int_value(), 8);
  EXPECT_EQ(FindEntry(plan.config(), "rotary_base")->value().int_value(), 1'000'000);
  ASSERT_GT(plan.launches_size(), 0);
  v1::ValidateConfigRequest text = FileOf("loongforge", "run.sh", plan.launches(0).text());
  *text.mutable_hardware() = request.hardware();
  text.set_world_size(16);
  const v1::ValidateConfigResponse judged = Validated(text);
  ASSERT_GT(judged.estimate().stages_size(), 0);
  EXPECT_EQ(judged.estimate().stages(0).total_bytes().value(), plan.estimate().stages(0).total_bytes().value());
}

}  // namespace
}  // namespace flightplan
