#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "flightplan/v1/catalog_service.pb.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/base/utf8.h"
#include "resolver/catalog/catalog.h"
#include "resolver/explain/catalog_answers.h"
#include "resolver/normalize/canonical_bytes.h"
#include "resolver/plan/knob.h"
#include "resolver/resolver.h"
#include "tests/support/requests.h"

namespace flightplan {
namespace {

using testing::DeepSeekOnH100;
using testing::Errors;
using testing::QwenOnSixteen;
using testing::TestResolver;
using testing::ViolatedFields;

TEST(ResolveConfig, CompletesDeepSeekV3OnEveryTarget) {
  for (const char* target : {"megatron-lm", "megatron-bridge", "loongforge"}) {
    v1::ResolveConfigRequest request = DeepSeekOnH100();
    request.mutable_target()->set_framework(target);
    v1::ResolveConfigResponse response;
    ASSERT_TRUE(TestResolver().ResolveConfig(request, &response).ok());
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

TEST(ResolveConfig, TextThatIsNoUtf8IsTheCallersFault) {
  v1::ResolveConfigRequest request = DeepSeekOnH100();
  request.mutable_layout()->set_pipeline_model_parallel_layout("Et*3|(tt|)*\xabm|L");
  v1::ResolveConfigResponse response;
  EXPECT_EQ(TestResolver().ResolveConfig(request, &response).code(), absl::StatusCode::kInvalidArgument);
}

// tests/properties/extremes_check.cc has the rest of all requests.
TEST(ResolveConfig, AFigureThatNoMachineHasIsRefused) {
  v1::ResolveConfigRequest request = DeepSeekOnH100();
  v1::ResolveConfigResponse response;
  for (const double odd : {1e-300, 999'999.0, 1.1e15, std::numeric_limits<double>::quiet_NaN()}) {
    request.mutable_hardware()->mutable_fabric()->set_nvlink_bytes_per_second(odd);
    EXPECT_EQ(ViolatedFields(TestResolver().ResolveConfig(request, &response)),
              std::set<std::string>{"hardware.fabric.nvlink_bytes_per_second"});
  }
  for (const double edge : {1e6, 1e15}) {
    request.mutable_hardware()->mutable_fabric()->set_nvlink_bytes_per_second(edge);
    const absl::Status status = TestResolver().ResolveConfig(request, &response);
    EXPECT_TRUE(status.ok()) << status;
  }
}

TEST(ResolveConfig, AnAnswerNeverHoldsHalfACharacter) {
  v1::ResolveConfigRequest request = DeepSeekOnH100();
  request.mutable_layout()->set_pipeline_model_parallel_layout("Et*3|(tt|)*2\xc7\x9a|L");
  v1::ResolveConfigResponse response;
  const absl::Status status = TestResolver().ResolveConfig(request, &response);
  EXPECT_TRUE(status.ok()) << status;
}

// Text of the caller is cut between characters wherever a refusal quotes it.
TEST(ResolveConfig, QuotesLongTextsByWholeCharacters) {
  for (const char* shift : {"", "x", "xx"}) {
    std::string text = shift;
    for (int i = 0; i < 100; ++i) text += "\xe6\xa8\xa1";  // 300 bytes, three to a character
    v1::ResolveConfigRequest request = DeepSeekOnH100();
    request.mutable_model()->set_name(text);
    request.mutable_workload()->set_precision(text);
    request.mutable_software()->mutable_dispatchers()->add_backends(text);
    v1::KnobSetting* const pin = request.add_pinned_knobs();
    pin->set_name("moe_token_dispatcher_type");
    pin->mutable_value()->set_string_value(text);
    ConfigAnswer answer;
    const absl::Status status = TestResolver().AnswerResolve(request, EvidenceSnapshot::Empty(), &answer);
    EXPECT_EQ(ViolatedFields(status).size(), 4U) << status;
    EXPECT_TRUE(IsUtf8(status.message())) << shift;
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
    ConfigAnswer judged;
    ASSERT_TRUE(TestResolver().AnswerValidate(launch, &judged).ok()) << framework;
    v1::ValidateConfigResponse verdict;
    ASSERT_TRUE(verdict.ParseFromArray(judged.bytes.data(), static_cast<int>(judged.bytes.size()))) << framework;
    EXPECT_TRUE(CanonicalBytes(verdict) == judged.bytes.view()) << framework;
    EXPECT_EQ(verdict.will_run(), judged.will_run);
  }
}

TEST(ResolveConfig, SameRequestSameBytes) {
  v1::ResolveConfigResponse first;
  v1::ResolveConfigResponse second;
  ASSERT_TRUE(TestResolver().ResolveConfig(DeepSeekOnH100(), &first).ok());
  ASSERT_TRUE(TestResolver().ResolveConfig(DeepSeekOnH100(), &second).ok());
  EXPECT_EQ(first.digest(), second.digest());
  EXPECT_EQ(first.ShortDebugString(), second.ShortDebugString());
  v1::ResolveConfigRequest other = DeepSeekOnH100();
  other.mutable_workload()->set_global_batch_size(4096);
  ASSERT_TRUE(TestResolver().ResolveConfig(other, &second).ok());
  EXPECT_NE(first.digest(), second.digest());
}

TEST(ResolveConfig, ForecastsTheStepAndWhatToChangeNext) {
  v1::ResolveConfigRequest request = DeepSeekOnH100();
  request.mutable_software()->set_te_version("2.15.0");
  request.mutable_software()->set_torch_version("2.11.0");
  v1::ResolveConfigResponse response;
  ASSERT_TRUE(TestResolver().ResolveConfig(request, &response).ok());
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
  v1::ResolveConfigResponse measured;
  ASSERT_TRUE(TestResolver().ResolveConfig(request, &measured).ok());
  EXPECT_EQ(measured.estimate().step_time_us().value(), 5e7);
  EXPECT_DOUBLE_EQ(measured.estimate().wall_ratios().at("host"), 0.7);
}

std::string NextStepOf(const v1::ResolveConfigResponse& response) {
  for (const v1::Finding& finding : response.findings()) {
    if (finding.rule_id() == "decide.next-step") return finding.seen();
  }
  return "";
}

TEST(ResolveConfig, AProfileMovesTheNextStep) {
  v1::ResolveConfigRequest request = DeepSeekOnH100();
  request.mutable_software()->set_te_version("2.15.0");
  request.mutable_software()->set_torch_version("2.11.0");
  request.mutable_profile()->set_wall(v1::WALL_MEMORY);
  v1::ResolveConfigResponse memory;
  ASSERT_TRUE(TestResolver().ResolveConfig(request, &memory).ok());
  EXPECT_NE(NextStepOf(memory).find("memory"), std::string::npos) << NextStepOf(memory);
  request.mutable_profile()->set_wall(v1::WALL_COMMUNICATION);
  v1::ResolveConfigResponse communication;
  ASSERT_TRUE(TestResolver().ResolveConfig(request, &communication).ok());
  EXPECT_EQ(NextStepOf(communication).find("memory"), std::string::npos);
}

TEST(ResolveConfig, EveryAbSaysWhatToExpect) {
  v1::ResolveConfigRequest request = DeepSeekOnH100();
  request.mutable_model()->set_name("qwen3-30b-a3b");
  request.mutable_hardware()->set_gpu_count(16);
  request.mutable_workload()->set_global_batch_size(1024);
  request.mutable_software()->set_te_version("2.15.0");
  request.mutable_software()->set_torch_version("2.11.0");
  request.mutable_layout()->Clear();
  request.mutable_layout()->set_tensor_model_parallel_size(1);
  request.mutable_layout()->set_pipeline_model_parallel_size(1);
  request.mutable_layout()->set_expert_model_parallel_size(16);
  v1::ResolveConfigResponse response;
  ASSERT_TRUE(TestResolver().ResolveConfig(request, &response).ok());
  EXPECT_GT(response.ab_suggestions_size(), 0);
  for (const v1::AbSuggestion& ab : response.ab_suggestions()) {
    EXPECT_TRUE(ab.has_expected_step_ratio()) << ab.knob();
    EXPECT_LT(ab.expected_step_ratio().low(), ab.expected_step_ratio().high()) << ab.knob();
  }
}

TEST(ResolveConfig, NeverChangesAPin) {
  v1::ResolveConfigRequest request = DeepSeekOnH100();
  request.mutable_knobs()->set_moe_shared_expert_overlap(true);
  request.mutable_knobs()->set_overlap_moe_expert_parallel_comm(true);
  v1::ResolveConfigResponse response;
  ASSERT_TRUE(TestResolver().ResolveConfig(request, &response).ok());
  EXPECT_EQ(response.outcome(), v1::OUTCOME_INFEASIBLE);
  EXPECT_FALSE(Errors(response.findings()).empty());
  for (const v1::Decision& decision : response.decisions()) {
    if (decision.name() != "moe_shared_expert_overlap" && decision.name() != "overlap_moe_expert_parallel_comm")
      continue;
    EXPECT_EQ(decision.basis(), v1::BASIS_CALLER) << decision.name();
    EXPECT_TRUE(decision.value().bool_value()) << decision.name();
  }
}

int CountOf(const google::protobuf::RepeatedPtrField<v1::Finding>& findings, absl::string_view id) {
  return static_cast<int>(
      std::count_if(findings.begin(), findings.end(), [&](const v1::Finding& f) { return f.rule_id() == id; }));
}

TEST(ResolveConfig, SearchesAnOpenLayout) {
  v1::ResolveConfigResponse response;
  ASSERT_TRUE(TestResolver().ResolveConfig(QwenOnSixteen(), &response).ok());
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

// A fix is tried at the sizes that were chosen, so it names them: alone it would be a question for another search.
TEST(ResolveConfig, FixesOfAnOpenLayoutHoldWhatTheySay) {
  v1::ResolveConfigRequest request;
  request.mutable_model()->set_name("qwen3-235b-a22b");
  request.mutable_hardware()->set_gpu("h100-sxm");
  request.mutable_hardware()->set_gpu_count(256);
  request.mutable_workload()->set_seq_length(4096);
  request.mutable_workload()->set_global_batch_size(2048);
  request.mutable_target()->set_framework("megatron-lm");
  request.mutable_software()->set_te_version("2.12");
  v1::ResolveConfigResponse response;
  ASSERT_TRUE(TestResolver().ResolveConfig(request, &response).ok());
  int fixes = 0;
  for (const v1::Finding& finding : response.findings()) {
    for (const v1::Fix& fix : finding.fixes()) {
      ++fixes;
      v1::ResolveConfigRequest fixed = request;
      for (const v1::KnobSetting& setting : fix.knobs()) *fixed.add_pinned_knobs() = setting;
      v1::ResolveConfigResponse then;
      ASSERT_TRUE(TestResolver().ResolveConfig(fixed, &then).ok());
      EXPECT_EQ(CountOf(then.findings(), finding.rule_id()), 0) << fix.ShortDebugString();
      EXPECT_EQ(CountOf(then.findings(), "layout.searched"), 0);
      EXPECT_EQ(then.estimate().fit(), v1::FIT_VERDICT_FITS);
    }
  }
  EXPECT_GT(fixes, 0);
}

// The better of the search's own way to more room and the memory's fixes is both the fix and what the search says of
// room: one page, one story.
TEST(ResolveConfig, TheFixOfAnOpenLayoutIsThePlanWithRoom) {
  v1::ResolveConfigRequest request = DeepSeekOnH100();
  request.clear_layout();
  v1::ResolveConfigResponse response;
  ASSERT_TRUE(TestResolver().ResolveConfig(request, &response).ok());
  const v1::Finding* marginal = nullptr;
  std::string searched;
  for (const v1::Finding& finding : response.findings()) {
    if (finding.rule_id() == "fit.memory-marginal") marginal = &finding;
    if (finding.rule_id() == "layout.searched") searched = finding.needs();
  }
  ASSERT_NE(marginal, nullptr);
  const size_t room = searched.find("with room for the whole band");
  ASSERT_NE(room, std::string::npos) << searched;
  ASSERT_EQ(marginal->fixes_size(), 1);
  v1::ResolveConfigRequest fixed = request;
  for (const v1::KnobSetting& setting : marginal->fixes(0).knobs()) *fixed.add_pinned_knobs() = setting;
  v1::ResolveConfigResponse then;
  ASSERT_TRUE(TestResolver().ResolveConfig(fixed, &then).ok());
  EXPECT_EQ(then.estimate().fit(), v1::FIT_VERDICT_FITS);
  const double slower = std::stod(searched.substr(searched.find(',', room) + 1));
  const double now = response.estimate().step_time_us().value(), after = then.estimate().step_time_us().value();
  EXPECT_NEAR(100 * (after / now - 1), slower, 0.1) << searched;
}

TEST(ResolveConfig, KeepsTheGivenSizesOfAnOpenLayout) {
  v1::ResolveConfigRequest request = QwenOnSixteen();
  request.mutable_layout()->set_tensor_model_parallel_size(2);
  v1::KnobSetting* pin = request.add_pinned_knobs();
  pin->set_name("pipeline_model_parallel_size");
  pin->mutable_value()->set_int_value(4);
  v1::ResolveConfigResponse response;
  ASSERT_TRUE(TestResolver().ResolveConfig(request, &response).ok());
  EXPECT_EQ(CountOf(response.findings(), "layout.searched"), 1);
  EXPECT_EQ(response.layout().sizes().tensor_model_parallel_size(), 2);
  EXPECT_EQ(response.layout().sizes().pipeline_model_parallel_size(), 4);
  for (const v1::ConfigEntry& entry : response.config()) {
    if (entry.name() == "tensor_model_parallel_size" || entry.name() == "pipeline_model_parallel_size") {
      EXPECT_EQ(entry.origin(), v1::CONFIG_ORIGIN_CALLER) << entry.name();
    }
  }
}

TEST(ResolveConfig, AnswersAnOpenLayoutTheSameEachTime) {
  v1::ResolveConfigResponse first, second;
  ASSERT_TRUE(TestResolver().ResolveConfig(QwenOnSixteen(), &first).ok());
  ASSERT_TRUE(TestResolver().ResolveConfig(QwenOnSixteen(), &second).ok());
  EXPECT_EQ(CanonicalBytes(first), CanonicalBytes(second));
  // The question as it was asked, not as it was filled in.
  v1::ResolveConfigRequest filled = QwenOnSixteen();
  *filled.mutable_layout() = first.layout().sizes();
  v1::ResolveConfigResponse given;
  ASSERT_TRUE(TestResolver().ResolveConfig(filled, &given).ok());
  EXPECT_NE(given.digest(), first.digest());
  EXPECT_EQ(given.estimate().step_time_us().value(), first.estimate().step_time_us().value());
}

TEST(ResolveConfig, SaysWhyAnOpenLayoutHasNoAnswer) {
  v1::ResolveConfigRequest request = DeepSeekOnH100();
  request.clear_layout();
  request.mutable_hardware()->set_gpu_count(1);
  v1::ResolveConfigResponse response;
  ASSERT_TRUE(TestResolver().ResolveConfig(request, &response).ok());
  EXPECT_EQ(response.outcome(), v1::OUTCOME_INFEASIBLE);
  EXPECT_EQ(CountOf(response.findings(), "layout.none-found"), 1);
}

// What a view leaves out is known; the rest is the same to the byte.
// Warnings have their fixes, and what those change, in the full view alone.
void DropAdvice(google::protobuf::RepeatedPtrField<v1::Finding>* findings) {
  for (v1::Finding& finding : *findings) {
    if (finding.severity() == v1::SEVERITY_ERROR) continue;
    finding.clear_fixes();
    finding.mutable_needs()->resize(std::min(finding.needs().size(), finding.needs().find("; with the fix:")));
  }
}

v1::ResolveConfigResponse Part(v1::ResolveConfigResponse whole, v1::AnswerView view) {
  whole.clear_config();
  whole.clear_decisions();
  whole.clear_effective_changes();
  whole.clear_ab_suggestions();
  whole.clear_model();
  auto* const findings = whole.mutable_findings();
  findings->erase(std::remove_if(findings->begin(), findings->end(),
                                 [](const v1::Finding& f) { return f.rule_id() == "decide.next-step"; }),
                  findings->end());
  DropAdvice(findings);
  if (view == v1::ANSWER_VIEW_VERDICT) {
    whole.clear_estimate();
    whole.clear_launches();
    whole.clear_layout();
  }
  return whole;
}

TEST(ResolveConfig, AViewShowsAPartOfTheSameAnswer) {
  for (v1::ResolveConfigRequest request : {DeepSeekOnH100(), QwenOnSixteen()}) {  // a given layout, and an open one
    v1::ResolveConfigResponse full;
    ASSERT_TRUE(TestResolver().ResolveConfig(request, &full).ok());
    for (const v1::AnswerView view : {v1::ANSWER_VIEW_VERDICT, v1::ANSWER_VIEW_BASIC, v1::ANSWER_VIEW_FULL}) {
      request.set_view(view);
      v1::ResolveConfigResponse response;
      ASSERT_TRUE(TestResolver().ResolveConfig(request, &response).ok());
      const v1::ResolveConfigResponse expected = view == v1::ANSWER_VIEW_FULL ? full : Part(full, view);
      EXPECT_EQ(CanonicalBytes(response), CanonicalBytes(expected)) << request.ShortDebugString();
    }
  }
}

// What is computed again is as little as frees enough, and the answer to the fixed question says so.
TEST(ResolveConfig, OffersTheCheapestMemoryFixThatHolds) {
  v1::ResolveConfigRequest request;
  request.mutable_model()->set_name("qwen3-30b-a3b");
  request.mutable_hardware()->set_gpu("h100-sxm");
  request.mutable_hardware()->set_gpu_count(16);
  request.mutable_workload()->set_seq_length(4096);
  request.mutable_workload()->set_global_batch_size(128);
  request.mutable_workload()->set_precision("bf16");
  request.mutable_target()->set_framework("megatron-lm");
  request.mutable_layout()->set_tensor_model_parallel_size(1);
  request.mutable_layout()->set_pipeline_model_parallel_size(1);
  request.mutable_layout()->set_expert_model_parallel_size(16);
  v1::KnobSetting* const overlap = request.add_pinned_knobs();
  overlap->set_name("overlap_moe_expert_parallel_comm");
  overlap->mutable_value()->set_bool_value(false);
  v1::ResolveConfigResponse response;
  ASSERT_TRUE(TestResolver().ResolveConfig(request, &response).ok());
  ASSERT_EQ(response.estimate().fit(), v1::FIT_VERDICT_MARGINAL);
  const auto lacks = std::find_if(response.findings().begin(), response.findings().end(),
                                  [](const v1::Finding& f) { return f.rule_id() == "fit.memory-marginal"; });
  ASSERT_NE(lacks, response.findings().end());
  ASSERT_EQ(lacks->fixes_size(), 1);
  EXPECT_NE(lacks->needs().find("; with the fix: step +"), std::string::npos) << lacks->needs();
  const v1::Fix& fix = lacks->fixes(0);
  for (const v1::KnobSetting& setting : fix.knobs()) {
    *request.add_pinned_knobs() = setting;
    const bool granularity = setting.name() == "recompute_granularity";
    EXPECT_TRUE(!granularity || setting.value().string_value() == "selective") << setting.ShortDebugString();
  }
  ASSERT_TRUE(TestResolver().ResolveConfig(request, &response).ok());
  EXPECT_TRUE(response.will_run());
  EXPECT_EQ(response.estimate().fit(), v1::FIT_VERDICT_FITS);
}

// What was decided is the same step as the caller's word, also where memory is so tight that recompute would be another
// one if it were asked for beside EP overlap.
TEST(ResolveConfig, ItsOwnDecisionsGivenBackAreTheSameStep) {
  v1::ResolveConfigRequest request;
  request.mutable_model()->set_name("glm-4.5-air");
  request.mutable_hardware()->set_gpu("rtx-pro-6000-server");
  request.mutable_hardware()->set_gpu_count(32);
  request.mutable_workload()->set_seq_length(8192);
  request.mutable_workload()->set_global_batch_size(256);
  request.mutable_target()->set_framework("megatron-bridge");
  request.mutable_layout()->set_tensor_model_parallel_size(4);
  request.mutable_layout()->set_pipeline_model_parallel_size(2);
  request.mutable_layout()->set_expert_model_parallel_size(16);
  v1::ResolveConfigResponse decided, given;
  ASSERT_TRUE(TestResolver().ResolveConfig(request, &decided).ok());
  bool overlapped = false;
  for (const v1::Decision& decision : decided.decisions()) {
    if (!FindKnob(decision.name()).has_value()) continue;
    overlapped |= decision.name() == "overlap_moe_expert_parallel_comm" && decision.value().bool_value();
    v1::KnobSetting& pin = *request.add_pinned_knobs();
    pin.set_name(decision.name());
    *pin.mutable_value() = decision.value();
  }
  ASSERT_TRUE(overlapped);
  ASSERT_TRUE(TestResolver().ResolveConfig(request, &given).ok());
  EXPECT_NEAR(given.estimate().step_time_us().value() / decided.estimate().step_time_us().value(), 1, 0.01);
}

// No sentence of the answer, and no side of its A/B, puts attention's graphs beside EP overlap.
TEST(ResolveConfig, AttentionIsNotCapturedBesideExpertOverlap) {
  v1::ResolveConfigRequest request;
  request.mutable_model()->set_name("qwen3-30b-a3b");
  request.mutable_hardware()->set_gpu("h100");
  request.mutable_hardware()->set_gpu_count(16);
  request.mutable_workload()->set_seq_length(4096);
  request.mutable_target()->set_framework("megatron-lm");
  request.mutable_layout()->set_tensor_model_parallel_size(1);
  request.mutable_layout()->set_pipeline_model_parallel_size(1);
  request.mutable_layout()->set_expert_model_parallel_size(16);
  const auto is_attention = [](const v1::KnobValue& module) { return module.string_value() == "attn"; };
  bool tried = false;
  for (const int batch : {128, 512}) {
    for (const char* graphs : {"", "transformer_engine"}) {
      request.mutable_workload()->set_global_batch_size(batch);
      request.clear_pinned_knobs();
      if (graphs[0] != 0) {
        request.add_pinned_knobs()->set_name("cuda_graph_impl");
        request.mutable_pinned_knobs(0)->mutable_value()->set_string_value(graphs);
      }
      v1::ResolveConfigResponse response;
      ASSERT_TRUE(TestResolver().ResolveConfig(request, &response).ok());
      for (const v1::Finding& finding : response.findings())
        EXPECT_NE(finding.rule_id(), "field.graphed-attention-ep-overlap");
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

// Graphs and EP overlap together may spoil gradients; without the graphs a step takes longer, which is no secret.
TEST(ResolveConfig, TheFixOfAFieldReportSaysWhatItCosts) {
  v1::ResolveConfigRequest request;
  request.mutable_model()->set_name("qwen3-30b-a3b");
  request.mutable_hardware()->set_gpu("h100");
  request.mutable_hardware()->set_gpu_count(16);
  request.mutable_workload()->set_seq_length(4096);
  request.mutable_workload()->set_global_batch_size(128);
  request.mutable_target()->set_framework("megatron-lm");
  request.mutable_layout()->set_tensor_model_parallel_size(1);
  request.mutable_layout()->set_pipeline_model_parallel_size(1);
  request.mutable_layout()->set_expert_model_parallel_size(16);
  v1::KnobSetting& overlap = *request.add_pinned_knobs();
  overlap.set_name("overlap_moe_expert_parallel_comm");
  overlap.mutable_value()->set_bool_value(true);
  v1::KnobSetting& graphs = *request.add_pinned_knobs();
  graphs.set_name("cuda_graph_impl");
  graphs.mutable_value()->set_string_value("transformer_engine");
  v1::KnobSetting& modules = *request.add_pinned_knobs();
  modules.set_name("cuda_graph_modules");
  modules.mutable_value()->mutable_list_value()->add_values()->set_string_value("attn");
  v1::ResolveConfigResponse response;
  ASSERT_TRUE(TestResolver().ResolveConfig(request, &response).ok());
  const auto graphed = std::find_if(
      response.findings().begin(), response.findings().end(),
      [](const v1::Finding& finding) { return finding.rule_id() == "field.graphed-attention-ep-overlap"; });
  ASSERT_NE(graphed, response.findings().end());
  ASSERT_GT(graphed->fixes_size(), 0);
  EXPECT_NE(graphed->needs().find("; with the fix: step +"), std::string::npos) << graphed->needs();
}

// Marginal: 70 B on eight GPUs whose host is near.
v1::ResolveConfigRequest TightQuestion() {
  v1::ResolveConfigRequest request;
  request.mutable_model()->set_name("llama-3.1-70b");
  request.mutable_hardware()->set_gpu("gb200-nvl72");
  request.mutable_hardware()->set_gpu_count(8);
  request.mutable_workload()->set_seq_length(8192);
  request.mutable_workload()->set_global_batch_size(64);
  request.mutable_target()->set_framework("megatron-lm");
  request.mutable_layout()->set_tensor_model_parallel_size(8);
  request.mutable_layout()->set_pipeline_model_parallel_size(1);
  return request;
}

// One fault is one finding.
TEST(ResolveConfig, SaysOnceThatABackendIsNotInstalled) {
  v1::ResolveConfigRequest request = QwenOnSixteen();
  request.mutable_software()->mutable_dispatchers()->add_backends("deepep");
  for (const auto& [name, value] :
       {std::pair{"moe_token_dispatcher_type", "flex"}, std::pair{"moe_flex_dispatcher_backend", "hybridep"}}) {
    v1::KnobSetting& pin = *request.add_pinned_knobs();
    pin.set_name(name);
    pin.mutable_value()->set_string_value(value);
  }
  v1::ResolveConfigResponse response;
  ASSERT_TRUE(TestResolver().ResolveConfig(request, &response).ok());
  EXPECT_FALSE(response.will_run());
  const auto names_it = [](const v1::Finding& finding) {
    return finding.severity() == v1::SEVERITY_ERROR && absl::StrContains(finding.seen(), "hybridep");
  };
  EXPECT_EQ(std::count_if(response.findings().begin(), response.findings().end(), names_it), 1);
}

// "Full" is a whole wish: how it is divided is left to us, as is the layout beside it.
TEST(ResolveConfig, CompletesFullRecomputeThatTheCallerAsksFor) {
  v1::ResolveConfigRequest request;
  request.mutable_model()->set_name("qwen3-30b-a3b");
  request.mutable_hardware()->set_gpu("h100-sxm");
  request.mutable_hardware()->set_gpu_count(16);
  request.mutable_workload()->set_seq_length(8192);
  request.mutable_workload()->set_global_batch_size(128);
  request.mutable_target()->set_framework("megatron-lm");
  request.mutable_layout()->set_pipeline_model_parallel_size(2);
  request.mutable_layout()->set_expert_model_parallel_size(8);
  request.add_pinned_knobs()->set_name("recompute_granularity");
  request.mutable_pinned_knobs(0)->mutable_value()->set_string_value("full");
  v1::ResolveConfigResponse response;
  ASSERT_TRUE(TestResolver().ResolveConfig(request, &response).ok());
  EXPECT_EQ(response.outcome(), v1::OUTCOME_RESOLVED);
  std::string method;
  for (const v1::ConfigEntry& entry : response.config()) {
    if (entry.name() == "recompute_method") method = entry.value().string_value();
  }
  EXPECT_EQ(method, "uniform");
}

// Activations on the host cost what their copies slow down, and not nothing.
TEST(ResolveConfig, OffersActivationsOnTheHostAtTheirPrice) {
  v1::ResolveConfigRequest request = TightQuestion();
  v1::ResolveConfigResponse before;
  ASSERT_TRUE(TestResolver().ResolveConfig(request, &before).ok());
  const auto lacks = std::find_if(before.findings().begin(), before.findings().end(),
                                  [](const v1::Finding& f) { return f.rule_id() == "fit.memory-marginal"; });
  ASSERT_NE(lacks, before.findings().end());
  ASSERT_EQ(lacks->fixes_size(), 1);
  EXPECT_EQ(lacks->fixes(0).knobs(0).name(), "fine_grained_activation_offloading");
  for (const v1::KnobSetting& setting : lacks->fixes(0).knobs()) *request.add_pinned_knobs() = setting;
  for (const auto& [name, value] : lacks->fixes(0).env()) (*request.mutable_env())[name] = value;
  v1::ResolveConfigResponse after;
  ASSERT_TRUE(TestResolver().ResolveConfig(request, &after).ok());
  EXPECT_EQ(after.estimate().fit(), v1::FIT_VERDICT_FITS);
  EXPECT_GT(after.estimate().step_time_us().value(), 1.001 * before.estimate().step_time_us().value());
}

// Each way alone is dear: experts computed again cost a third of the step. Two together are not.
TEST(ResolveConfig, OffersTwoWaysTogetherWhereEachIsDear) {
  v1::ResolveConfigRequest request = QwenOnSixteen();
  request.mutable_layout()->set_tensor_model_parallel_size(1);
  request.mutable_layout()->set_pipeline_model_parallel_size(1);
  request.mutable_layout()->set_expert_model_parallel_size(16);
  request.mutable_software()->set_te_version("2.17.1");
  for (const char* backend : {"deepep", "hybridep"})
    request.mutable_software()->mutable_dispatchers()->add_backends(backend);
  v1::ResolveConfigResponse before;
  ASSERT_TRUE(TestResolver().ResolveConfig(request, &before).ok());
  const auto lacks = std::find_if(before.findings().begin(), before.findings().end(),
                                  [](const v1::Finding& f) { return f.rule_id() == "fit.memory-marginal"; });
  ASSERT_NE(lacks, before.findings().end());
  ASSERT_EQ(lacks->fixes_size(), 1);
  for (const v1::KnobSetting& setting : lacks->fixes(0).knobs()) *request.add_pinned_knobs() = setting;
  for (const auto& [name, value] : lacks->fixes(0).env()) (*request.mutable_env())[name] = value;
  v1::ResolveConfigResponse after;
  ASSERT_TRUE(TestResolver().ResolveConfig(request, &after).ok());
  EXPECT_EQ(after.estimate().fit(), v1::FIT_VERDICT_FITS);
  EXPECT_LT(after.estimate().step_time_us().value(), 1.2 * before.estimate().step_time_us().value());
}

// A profile's step is that of the run as it is: a fix is not free because the profile says the same beside it.
TEST(ResolveConfig, PromisesByForecastBesideAProfile) {
  v1::ResolveConfigRequest request = QwenOnSixteen();
  request.mutable_layout()->set_tensor_model_parallel_size(1);
  request.mutable_layout()->set_pipeline_model_parallel_size(1);
  request.mutable_layout()->set_expert_model_parallel_size(16);
  request.mutable_software()->set_te_version("2.17.1");
  request.mutable_software()->mutable_dispatchers()->add_backends("hybridep");
  const auto promise = [&] {
    v1::ResolveConfigResponse answer;
    EXPECT_TRUE(TestResolver().ResolveConfig(request, &answer).ok());
    for (const v1::Finding& finding : answer.findings()) {
      if (finding.rule_id() == "fit.memory-marginal") return finding.needs();
    }
    return std::string();
  };
  const std::string without = promise();
  EXPECT_TRUE(absl::StrContains(without, "step +")) << without;
  request.mutable_profile()->set_step_time_us(4e6);
  EXPECT_FALSE(absl::StrContains(promise(), "step +0 %")) << promise();
}

// Part of the optimizer on the host is one of the ways: here the least of it does, and no other is as short.
TEST(ResolveConfig, OffersToMoveTheOptimizerWhereThatCostsLeast) {
  v1::ResolveConfigRequest request = TightQuestion();
  v1::KnobSetting& pin = *request.add_pinned_knobs();
  pin.set_name("fine_grained_activation_offloading");
  pin.mutable_value()->set_bool_value(false);
  v1::ResolveConfigResponse before;
  ASSERT_TRUE(TestResolver().ResolveConfig(request, &before).ok());
  ASSERT_EQ(before.estimate().fit(), v1::FIT_VERDICT_MARGINAL);
  const auto lacks = std::find_if(before.findings().begin(), before.findings().end(),
                                  [](const v1::Finding& f) { return f.rule_id() == "fit.memory-marginal"; });
  ASSERT_NE(lacks, before.findings().end());
  ASSERT_EQ(lacks->fixes_size(), 1);
  EXPECT_EQ(lacks->fixes(0).knobs(0).name(), "optimizer_cpu_offload");
  for (const v1::KnobSetting& setting : lacks->fixes(0).knobs()) *request.add_pinned_knobs() = setting;
  v1::ResolveConfigResponse after;
  ASSERT_TRUE(TestResolver().ResolveConfig(request, &after).ok());
  EXPECT_EQ(after.estimate().fit(), v1::FIT_VERDICT_FITS);
}

// The layers given to the stages otherwise, where the pipeline waits for its last one, and what comes of it.
TEST(ResolveConfig, NextStepMayBeABetterSplitOfTheLayers) {
  v1::ResolveConfigRequest request;
  request.mutable_model()->set_name("qwen3-14b");
  request.mutable_hardware()->set_gpu("h100-sxm");
  request.mutable_hardware()->set_gpu_count(32);
  request.mutable_workload()->set_seq_length(4096);
  request.mutable_workload()->set_global_batch_size(128);
  request.mutable_target()->set_framework("megatron-lm");
  request.set_stage(v1::STAGE_TUNE);
  request.mutable_layout()->set_tensor_model_parallel_size(1);
  request.mutable_layout()->set_pipeline_model_parallel_size(4);
  request.mutable_layout()->set_virtual_pipeline_model_parallel_size(1);
  v1::ResolveConfigResponse before;
  ASSERT_TRUE(TestResolver().ResolveConfig(request, &before).ok());
  const auto split =
      std::find_if(before.ab_suggestions().begin(), before.ab_suggestions().end(),
                   [](const v1::AbSuggestion& ab) { return ab.knob() == "pipeline_model_parallel_layout"; });
  ASSERT_NE(split, before.ab_suggestions().end());
  request.mutable_layout()->set_pipeline_model_parallel_layout(split->other_value().string_value());
  v1::ResolveConfigResponse after;
  ASSERT_TRUE(TestResolver().ResolveConfig(request, &after).ok());
  EXPECT_EQ(after.outcome(), v1::OUTCOME_RESOLVED);
  EXPECT_LT(split->expected_step_ratio().value(), -0.02);
  EXPECT_NEAR(after.estimate().step_time_us().value() / before.estimate().step_time_us().value() - 1,
              split->expected_step_ratio().value(), 0.005);
}

// The step that another library is said to give is that of the answer with it.
TEST(ResolveConfig, NamesTheNvshmemThatLetsDeepepRun) {
  v1::ResolveConfigRequest request;
  request.mutable_model()->set_name("qwen3-235b-a22b");
  request.mutable_hardware()->set_gpu("b200");
  request.mutable_hardware()->set_gpu_count(128);
  request.mutable_workload()->set_seq_length(4096);
  request.mutable_workload()->set_global_batch_size(1024);
  request.mutable_target()->set_framework("megatron-bridge");
  request.mutable_layout()->set_tensor_model_parallel_size(1);
  request.mutable_layout()->set_pipeline_model_parallel_size(8);
  request.mutable_layout()->set_expert_model_parallel_size(16);
  const auto named = [](const v1::ResolveConfigResponse& answer) -> std::string {
    for (const v1::Finding& finding : answer.findings()) {
      if (absl::StrContains(finding.needs(), "--package nvshmem=3.4.5")) return finding.needs();
    }
    return "";
  };
  v1::ResolveConfigResponse before, after;
  ASSERT_TRUE(TestResolver().ResolveConfig(request, &before).ok());
  (*request.mutable_software()->mutable_packages())["nvshmem"] = "3.4.5";
  ASSERT_TRUE(TestResolver().ResolveConfig(request, &after).ok());
  const double change = after.estimate().step_time_us().value() / before.estimate().step_time_us().value() - 1;
  ASSERT_LT(change, -0.02);
  EXPECT_TRUE(absl::StrContains(named(before), absl::StrFormat("step %+.0f %% expected", 100 * change)))
      << named(before) << " against " << change;
  EXPECT_EQ(named(after), "");
}

// What a caller who names the backend gets is open to one who does not, its memory included.
TEST(ResolveConfig, AnOpenBackendIsNoSlowerThanOneThatIsNamed) {
  v1::ResolveConfigRequest request;
  request.mutable_model()->set_name("qwen3-vl-30b-a3b");
  request.mutable_hardware()->set_gpu("h100-sxm");
  request.mutable_hardware()->set_gpu_count(128);
  request.mutable_workload()->set_seq_length(8192);
  request.mutable_workload()->set_global_batch_size(1024);
  request.mutable_target()->set_framework("megatron-lm");
  request.mutable_software()->set_te_version("2.12.0");
  request.set_stage(v1::STAGE_TUNE);
  request.mutable_layout()->set_tensor_model_parallel_size(1);
  request.mutable_layout()->set_pipeline_model_parallel_size(2);
  request.mutable_layout()->set_virtual_pipeline_model_parallel_size(2);
  request.mutable_layout()->set_expert_model_parallel_size(32);
  v1::ResolveConfigResponse open, named;
  ASSERT_TRUE(TestResolver().ResolveConfig(request, &open).ok());
  for (const auto& [knob, value] :
       {std::pair("moe_token_dispatcher_type", "flex"), std::pair("moe_flex_dispatcher_backend", "deepep")}) {
    v1::KnobSetting* const setting = request.add_pinned_knobs();
    setting->set_name(knob);
    setting->mutable_value()->set_string_value(value);
  }
  ASSERT_TRUE(TestResolver().ResolveConfig(request, &named).ok());
  EXPECT_EQ(named.outcome(), v1::OUTCOME_RESOLVED);
  EXPECT_LE(open.estimate().step_time_us().value(), 1.01 * named.estimate().step_time_us().value());
}

// FP8 comes last: where compute is the wall and nothing else gains, and never without a word about the numerics.
TEST(ResolveConfig, NextStepIsFp8WhereNothingElseGains) {
  v1::ResolveConfigRequest request;
  request.mutable_model()->set_name("llama-3.1-70b");
  request.mutable_hardware()->set_gpu("b200");
  request.mutable_hardware()->set_gpu_count(64);
  request.mutable_workload()->set_seq_length(4096);
  request.mutable_workload()->set_global_batch_size(512);
  request.mutable_target()->set_framework("megatron-lm");
  request.mutable_software()->set_te_version("2.12.0");
  request.mutable_layout()->set_tensor_model_parallel_size(2);
  request.mutable_layout()->set_pipeline_model_parallel_size(4);
  request.mutable_layout()->set_virtual_pipeline_model_parallel_size(1);
  const auto next = [&](v1::Stage stage) {
    request.set_stage(stage);
    v1::ResolveConfigResponse answer;
    EXPECT_TRUE(TestResolver().ResolveConfig(request, &answer).ok());
    for (const v1::Finding& finding : answer.findings()) {
      if (finding.rule_id() == "decide.next-step") return finding.needs();
    }
    return std::string();
  };
  const std::string needs = next(v1::STAGE_TUNE);
  EXPECT_TRUE(absl::StrContains(needs, "fp8_recipe=mxfp8") && absl::StrContains(needs, "numerics")) << needs;
  EXPECT_FALSE(absl::StrContains(next(v1::STAGE_BRING_UP), "fp8"));
}

// Where the stack takes a decision back, memory is that of what is printed.
TEST(ResolveConfig, WeighsMemoryOfWhatIsPrinted) {
  v1::ResolveConfigRequest request;
  request.mutable_model()->set_name("deepseek-v4-pro");
  request.mutable_hardware()->set_gpu("b300-sxm");
  request.mutable_hardware()->set_gpu_count(512);
  request.mutable_workload()->set_seq_length(4096);
  request.mutable_workload()->set_global_batch_size(1024);
  request.mutable_target()->set_framework("megatron-lm");
  request.mutable_software()->set_te_version("2.12.0");
  request.set_stage(v1::STAGE_TUNE);
  request.mutable_layout()->set_tensor_model_parallel_size(1);
  request.mutable_layout()->set_pipeline_model_parallel_size(8);
  request.mutable_layout()->set_expert_model_parallel_size(64);
  v1::KnobSetting& pin = *request.add_pinned_knobs();
  pin.set_name("overlap_moe_expert_parallel_comm");
  pin.mutable_value()->set_bool_value(true);
  v1::ResolveConfigResponse open;
  ASSERT_TRUE(TestResolver().ResolveConfig(request, &open).ok());
  for (const v1::ConfigEntry& entry : open.config()) {
    if (entry.name() != "virtual_pipeline_model_parallel_size") continue;
    request.mutable_layout()->set_virtual_pipeline_model_parallel_size(
        std::max(1, static_cast<int>(entry.value().int_value())));
  }
  for (const v1::Decision& decision : open.decisions()) {
    if (!absl::StartsWith(decision.name(), "recompute") && !absl::StartsWith(decision.name(), "optimizer")) continue;
    v1::KnobSetting& same = *request.add_pinned_knobs();
    same.set_name(decision.name());
    *same.mutable_value() = decision.value();
  }
  v1::ResolveConfigResponse given;
  ASSERT_TRUE(TestResolver().ResolveConfig(request, &given).ok());
  EXPECT_NEAR(open.estimate().stages(0).total_bytes().value(), given.estimate().stages(0).total_bytes().value(),
              0.01 * given.estimate().stages(0).total_bytes().value());
  EXPECT_EQ(open.outcome(), given.outcome());
}

// What the answer took from the image of its stack: "te=2.17.1 dispatchers=deepep,hybridep"; empty: nothing.
std::string TakenFromImage(const v1::ResolveConfigRequest& request) {
  v1::ResolveConfigResponse answer;
  EXPECT_TRUE(TestResolver().ResolveConfig(request, &answer).ok());
  for (const v1::Finding& finding : answer.findings()) {
    if (finding.rule_id() != "decide.software-from-image") continue;
    std::string taken;
    for (const v1::KnobSetting& fact : finding.observed()) {
      absl::StrAppend(&taken, taken.empty() ? "" : " ", fact.name(), "=", fact.value().string_value());
    }
    return taken;
  }
  return "";
}

TEST(ResolveConfig, TakesFromTheImageWhatIsNotSaid) {
  v1::ResolveConfigRequest request = DeepSeekOnH100();
  EXPECT_EQ(TakenFromImage(request), "te=2.17.1 dispatchers=deepep,hybridep");
  request.mutable_target()->set_version("0.15");
  EXPECT_EQ(TakenFromImage(request), "te=2.9.0 dispatchers=deepep");
  request.mutable_hardware()->set_gpu("a100-sxm-80gb");  // the image's DeepEP is built for Hopper and later
  EXPECT_EQ(TakenFromImage(request), "te=2.9.0");
  request.mutable_software()->set_te_version("2.8.0");
  EXPECT_EQ(TakenFromImage(request), "");
  request.mutable_hardware()->set_gpu("h100-sxm");
  request.mutable_software()->mutable_dispatchers();  // the caller's word: none
  EXPECT_EQ(TakenFromImage(request), "");
}

double StepWith(v1::ResolveConfigRequest request, std::initializer_list<const char*> backends) {
  request.mutable_software()->set_te_version("2.12.0");
  auto& dispatchers = *request.mutable_software()->mutable_dispatchers();
  for (const char* backend : backends) dispatchers.add_backends(backend);
  v1::ResolveConfigResponse answer;
  EXPECT_TRUE(TestResolver().ResolveConfig(request, &answer).ok());
  return answer.estimate().step_time_us().value();
}

TEST(ResolveConfig, OneMoreBackendMakesNoStepLonger) {
  v1::ResolveConfigRequest request = DeepSeekOnH100();
  request.mutable_layout()->set_virtual_pipeline_model_parallel_size(4);
  const double none = StepWith(request, {}), deepep = StepWith(request, {"deepep"});
  const double hybridep = StepWith(request, {"hybridep"}), both = StepWith(request, {"deepep", "hybridep"});
  EXPECT_LE(deepep, none);
  EXPECT_LE(hybridep, none);
  EXPECT_LE(both, std::min(deepep, hybridep) * 1.01);
}

TEST(ResolveConfig, AVerdictIsSmall) {
  v1::ResolveConfigRequest request = DeepSeekOnH100();
  request.set_view(v1::ANSWER_VIEW_VERDICT);
  v1::ResolveConfigResponse response;
  ASSERT_TRUE(TestResolver().ResolveConfig(request, &response).ok());
  EXPECT_GT(response.findings_size(), 0);
  EXPECT_LE(response.ByteSizeLong(), 4096U);
}

TEST(ResolveConfig, SaysEverythingThatIsWrongWithTheRequest) {
  v1::ResolveConfigRequest request;
  request.mutable_model()->set_name("deepseek-v33");
  request.mutable_hardware()->set_gpu("h100-sxmm");
  request.mutable_hardware()->set_gpu_count(-8);
  request.mutable_workload()->set_seq_length(-1);
  request.mutable_workload()->set_precision("fp9");
  request.mutable_target()->set_framework("megatron");
  request.mutable_layout()->set_tensor_model_parallel_size(0);
  request.mutable_profile()->set_host_gap_ratio(std::numeric_limits<double>::quiet_NaN());
  request.set_stage(static_cast<v1::Stage>(99));
  request.set_view(static_cast<v1::AnswerView>(99));
  request.add_pinned_knobs()->set_name("moe_router_topkk");
  (*request.mutable_env())["A=B"] = "x";
  v1::ResolveConfigResponse response;
  const absl::Status status = TestResolver().ResolveConfig(request, &response);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  const std::set<std::string> fields = ViolatedFields(status);
  for (const char* field :
       {"model.name", "hardware.gpu", "hardware.gpu_count", "workload.seq_length", "workload.global_batch_size",
        "workload.precision", "target.framework", "layout.tensor_model_parallel_size", "profile.host_gap_ratio",
        "stage", "view", "pinned_knobs[0].name", "env"}) {
    EXPECT_EQ(fields.count(field), 1U) << field;
  }
}

TEST(ResolveConfig, RefusesAbsurdSizesWithoutOverflow) {
  v1::ResolveConfigRequest request = DeepSeekOnH100();
  v1::ModelSpec* spec = request.mutable_model()->mutable_spec();
  spec->set_num_layers(std::numeric_limits<int32_t>::max());
  spec->set_hidden_size(-1);
  spec->set_num_moe_experts(std::numeric_limits<int32_t>::max());
  v1::ResolveConfigResponse response;
  const absl::Status status = TestResolver().ResolveConfig(request, &response);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ViolatedFields(status).count("model.spec.num_moe_experts"), 1U);
}

TEST(ResolveConfig, AnswersTheLargestSizesItAccepts) {
  v1::ResolveConfigRequest request = DeepSeekOnH100();
  request.mutable_hardware()->set_gpu_count(1 << 20);
  request.mutable_workload()->set_seq_length(1 << 24);
  request.mutable_workload()->set_global_batch_size(1 << 30);
  v1::Layout* layout = request.mutable_layout();
  layout->set_tensor_model_parallel_size(1 << 20);
  layout->set_pipeline_model_parallel_size(1 << 20);
  layout->set_context_parallel_size(1 << 20);
  layout->set_expert_model_parallel_size(1 << 20);
  v1::ResolveConfigResponse response;
  ASSERT_TRUE(TestResolver().ResolveConfig(request, &response).ok());
  EXPECT_EQ(response.outcome(), v1::OUTCOME_INFEASIBLE);
}

TEST(ResolveConfig, VirtualStagesThatALayoutContradictsAreRefused) {
  v1::ResolveConfigRequest request = DeepSeekOnH100();
  v1::Layout& layout = *request.mutable_layout();
  layout.set_pipeline_model_parallel_size(2);
  layout.set_pipeline_model_parallel_layout("Et*15|t*15|t*15|t*16,m,L");
  const auto fields = [&](int vpp) {
    layout.set_virtual_pipeline_model_parallel_size(vpp);
    v1::ResolveConfigResponse response;
    return ViolatedFields(TestResolver().ResolveConfig(request, &response));
  };
  EXPECT_EQ(fields(1), (std::set<std::string>{"layout.virtual_pipeline_model_parallel_size"}));
  EXPECT_EQ(fields(4), (std::set<std::string>{"layout.virtual_pipeline_model_parallel_size"}));
  EXPECT_EQ(fields(2), (std::set<std::string>()));
}

// The logits of a long sequence take most of the memory: half of them is still too much.
TEST(ResolveConfig, AMemoryFixMayTakeMoreThanHalfAway) {
  v1::ResolveConfigRequest request;
  request.mutable_target()->set_framework("megatron-lm");
  request.mutable_model()->set_name("gpt-oss-120b");
  request.mutable_hardware()->set_gpu("b200");
  request.mutable_hardware()->set_gpu_count(64);
  request.mutable_workload()->set_seq_length(131072);
  request.mutable_workload()->set_global_batch_size(64);
  request.mutable_layout()->set_tensor_model_parallel_size(1);
  request.mutable_layout()->set_pipeline_model_parallel_size(1);
  request.mutable_layout()->set_expert_model_parallel_size(8);
  v1::ResolveConfigResponse answer;
  ASSERT_TRUE(TestResolver().ResolveConfig(request, &answer).ok());
  const auto lacks = std::find_if(answer.findings().begin(), answer.findings().end(),
                                  [](const v1::Finding& finding) { return finding.rule_id() == "fit.memory"; });
  ASSERT_NE(lacks, answer.findings().end());
  ASSERT_GT(lacks->fixes_size(), 0);
  EXPECT_EQ(lacks->fixes(0).knobs(0).name(), "context_parallel_size");
  EXPECT_GT(lacks->fixes(0).knobs(0).value().int_value(), 2);
}

// No rank holds a quarter of an expert, so nothing is said of what it would take.
TEST(ResolveConfig, ExpertsThatDoNotDivideHaveNoForecast) {
  v1::ResolveConfigRequest request;
  request.mutable_target()->set_framework("megatron-lm");
  request.mutable_model()->set_name("mixtral-8x7b");
  request.mutable_hardware()->set_gpu("h100");
  request.mutable_hardware()->set_gpu_count(256);
  request.mutable_workload()->set_seq_length(4096);
  request.mutable_workload()->set_global_batch_size(2048);
  request.mutable_layout()->set_tensor_model_parallel_size(1);
  request.mutable_layout()->set_pipeline_model_parallel_size(4);
  request.mutable_layout()->set_expert_model_parallel_size(32);
  v1::ResolveConfigResponse answer;
  ASSERT_TRUE(TestResolver().ResolveConfig(request, &answer).ok());
  EXPECT_FALSE(answer.will_run());
  EXPECT_EQ(answer.estimate().stages_size(), 0);
  EXPECT_FALSE(answer.estimate().has_step_time_us());
  EXPECT_EQ(answer.estimate().fit(), v1::FIT_VERDICT_UNKNOWN);
}

}  // namespace
}  // namespace flightplan
