#include "resolver/resolver.h"

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <set>
#include <string>

#include "flightplan/v1/resolver_service.pb.h"
#include "google/rpc/error_details.pb.h"
#include "resolver/catalog/catalog.h"
#include "resolver/normalize/canonical_bytes.h"

namespace flightplan {
namespace {

const Resolver& TestResolver() {
  static const auto* const kResolver = new Resolver(std::make_shared<const Catalog>(*Catalog::Builtin()));
  return *kResolver;
}

// DeepSeek-V3 on 1,024 H100, TP2 PP8 VPP4 EP64: the README's example.
v1::ResolveConfigRequest DeepSeekOnH100() {
  v1::ResolveConfigRequest request;
  request.mutable_model()->set_name("deepseek-v3");
  request.mutable_hardware()->set_gpu("h100-sxm");
  request.mutable_hardware()->set_gpu_count(1024);
  request.mutable_workload()->set_seq_length(4096);
  request.mutable_workload()->set_global_batch_size(8192);
  request.mutable_workload()->set_precision("bf16");
  request.mutable_target()->set_framework("megatron-lm");
  v1::Layout* layout = request.mutable_layout();
  layout->set_tensor_model_parallel_size(2);
  layout->set_pipeline_model_parallel_size(8);
  layout->set_virtual_pipeline_model_parallel_size(4);
  layout->set_expert_model_parallel_size(64);
  return request;
}

std::set<std::string> Errors(const google::protobuf::RepeatedPtrField<v1::Finding>& findings) {
  std::set<std::string> ids;
  for (const v1::Finding& finding : findings) {
    if (finding.severity() == v1::SEVERITY_ERROR) ids.insert(finding.rule_id());
  }
  return ids;
}

std::set<std::string> ViolatedFields(const absl::Status& status) {
  google::rpc::BadRequest details;
  std::set<std::string> fields;
  auto payload = status.GetPayload(kBadRequestPayload);
  if (!payload.has_value() || !details.ParseFromString(std::string(*payload))) return fields;
  for (const auto& violation : details.field_violations()) fields.insert(violation.field());
  return fields;
}

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

TEST(ResolveConfig, AnAnswerNeverHoldsHalfACharacter) {
  v1::ResolveConfigRequest request = DeepSeekOnH100();
  request.mutable_layout()->set_pipeline_model_parallel_layout("Et*3|(tt|)*2\xc7\x9a|L");
  v1::ResolveConfigResponse response;
  const absl::Status status = TestResolver().ResolveConfig(request, &response);
  EXPECT_TRUE(status.ok()) << status;
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

v1::ResolveConfigRequest QwenOnSixteen() {
  v1::ResolveConfigRequest request;
  request.mutable_model()->set_name("qwen3-30b-a3b");
  request.mutable_hardware()->set_gpu("h100-sxm");
  request.mutable_hardware()->set_gpu_count(16);
  request.mutable_workload()->set_seq_length(4096);
  request.mutable_workload()->set_global_batch_size(128);
  request.mutable_target()->set_framework("megatron-lm");
  return request;
}

int CountOf(const google::protobuf::RepeatedPtrField<v1::Finding>& findings, absl::string_view id) {
  return static_cast<int>(
      std::count_if(findings.begin(), findings.end(), [&](const v1::Finding& f) { return f.rule_id() == id; }));
}

TEST(ResolveConfig, SearchesAnOpenLayout) {
  v1::ResolveConfigResponse response;
  ASSERT_TRUE(TestResolver().ResolveConfig(QwenOnSixteen(), &response).ok());
  EXPECT_EQ(response.outcome(), v1::OUTCOME_RESOLVED);
  EXPECT_EQ(response.estimate().fit(), v1::FIT_VERDICT_FITS);
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
  // How the layers are split is decided after the graphs, which a given split may move where memory is near its limit.
  filled.mutable_layout()->clear_pipeline_model_parallel_layout();
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

// All sizes but PP and VPP are given, so that the search is short.
v1::PlanResult PlanQwen235(v1::PlanObjective objective, int32_t gpus) {
  v1::PlanLayoutsRequest request;
  *request.mutable_base() = QwenOnSixteen();
  request.mutable_base()->mutable_model()->set_name("qwen3-235b-a22b");
  request.mutable_base()->mutable_hardware()->set_gpu_count(gpus);
  request.mutable_base()->mutable_workload()->set_global_batch_size(1920);
  v1::Layout* sizes = request.mutable_base()->mutable_layout();
  sizes->set_tensor_model_parallel_size(8);
  sizes->set_context_parallel_size(1);
  sizes->set_expert_model_parallel_size(8);
  sizes->set_expert_tensor_parallel_size(1);
  sizes->set_micro_batch_size(1);
  request.set_objective(objective);
  v1::PlanResult result;
  EXPECT_TRUE(TestResolver().PlanLayouts(request, {}, &result).ok());
  return result;
}

TEST(PlanLayouts, FindsFewestGpusBetweenPowersOfTwo) {
  const v1::PlanResult fewest = PlanQwen235(v1::PLAN_OBJECTIVE_GPU_COUNT, 128);
  ASSERT_GT(fewest.plans_size(), 0);
  const v1::Layout& sizes = fewest.plans(0).layout().sizes();
  const int32_t gpus = 8 * sizes.pipeline_model_parallel_size() * fewest.plans(0).layout().data_parallel_size();
  EXPECT_NE(gpus & (gpus - 1), 0) << gpus;
  EXPECT_EQ(PlanQwen235(v1::PLAN_OBJECTIVE_STEP_TIME, gpus - 8).plans_size(), 0);
}

TEST(PlanLayouts, ListsNoLayoutTwice) {
  const v1::PlanResult result = PlanQwen235(v1::PLAN_OBJECTIVE_STEP_TIME, 128);
  ASSERT_GT(result.plans_size(), 1);
  std::set<std::string> seen;
  for (const v1::ResolveConfigResponse& plan : result.plans()) {
    v1::Layout sizes = plan.layout().sizes();
    EXPECT_TRUE(seen.insert(sizes.SerializeAsString()).second);
    EXPECT_EQ(plan.outcome(), v1::OUTCOME_RESOLVED);
  }
}

// Plans of one mapping that no forecast can tell apart are one plan, and it names the others.
TEST(PlanLayouts, NamesWhatAPlanStandsFor) {
  const v1::PlanResult result = PlanQwen235(v1::PLAN_OBJECTIVE_STEP_TIME, 128);
  EXPECT_GT(result.pruned_counts().at("alike"), 0);
  int64_t named = 0;
  for (const v1::ResolveConfigResponse& plan : result.plans()) {
    for (const v1::Decision& decision : plan.decisions()) {
      if (decision.name() != "virtual_pipeline_model_parallel_size") continue;
      EXPECT_EQ(decision.rule_id(), "plan.layout");
      for (const v1::Alternative& other : decision.alternatives()) {
        EXPECT_NE(other.value().int_value(), plan.layout().sizes().virtual_pipeline_model_parallel_size());
        EXPECT_NE(other.reason().find("step "), std::string::npos);
        ++named;
      }
    }
  }
  EXPECT_GT(named, 0);
  EXPECT_LE(named, result.pruned_counts().at("alike"));
}

// Fields are named as they stand in the request that was sent, below `base`.
TEST(PlanLayouts, NamesFieldsOfTheRequestAsSent) {
  v1::PlanLayoutsRequest request;
  *request.mutable_base() = QwenOnSixteen();
  request.mutable_base()->mutable_model()->set_name("qwen3-30b-a3c");
  request.mutable_base()->mutable_hardware()->set_gpu("h900");
  v1::PlanResult result;
  const absl::Status status = TestResolver().PlanLayouts(request, {}, &result);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message().substr(0, 16), "base.model.name:");
  google::rpc::BadRequest details;
  ASSERT_TRUE(details.ParseFromString(std::string(status.GetPayload(kBadRequestPayload).value_or(absl::Cord()))));
  std::set<std::string> fields;
  for (const auto& violation : details.field_violations()) fields.insert(violation.field());
  EXPECT_EQ(fields, (std::set<std::string>{"base.model.name", "base.hardware.gpu"}));
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
  request.add_pinned_knobs()->set_name("moe_router_topkk");
  (*request.mutable_env())["A=B"] = "x";
  v1::ResolveConfigResponse response;
  const absl::Status status = TestResolver().ResolveConfig(request, &response);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  const std::set<std::string> fields = ViolatedFields(status);
  for (const char* field :
       {"model.name", "hardware.gpu", "hardware.gpu_count", "workload.seq_length", "workload.global_batch_size",
        "workload.precision", "target.framework", "layout.tensor_model_parallel_size", "profile.host_gap_ratio",
        "stage", "pinned_knobs[0].name", "env"}) {
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

TEST(ValidateConfig, ReadsItsOwnCommandLine) {
  v1::ResolveConfigResponse plan;
  ASSERT_TRUE(TestResolver().ResolveConfig(DeepSeekOnH100(), &plan).ok());
  v1::ValidateConfigRequest request;
  *request.mutable_target() = DeepSeekOnH100().target();
  *request.mutable_hardware() = DeepSeekOnH100().hardware();
  for (const std::string& arg : plan.launches(0).argv()) request.mutable_arguments()->add_values(arg);
  for (const auto& [name, value] : plan.launches(0).env()) (*request.mutable_env())[name] = value;
  v1::ValidateConfigResponse response;
  ASSERT_TRUE(TestResolver().ValidateConfig(request, &response).ok());
  EXPECT_EQ(Errors(response.findings()), std::set<std::string>());
  EXPECT_TRUE(response.accepted_by_stack());
  EXPECT_TRUE(response.will_run());
}

TEST(ValidateConfig, PointsAtTheArgument) {
  v1::ValidateConfigRequest request;
  request.mutable_target()->set_framework("megatron-lm");
  request.set_world_size(8);
  for (const char* arg : {"--num-layers", "4", "--no-such-flag"}) request.mutable_arguments()->add_values(arg);
  v1::ValidateConfigResponse response;
  ASSERT_TRUE(TestResolver().ValidateConfig(request, &response).ok());
  EXPECT_FALSE(response.accepted_by_stack());
  bool pointed = false;
  for (const v1::Finding& finding : response.findings()) {
    pointed = pointed || (finding.rule_id() == "mlm.argparse" && finding.location().argument_index() == 2);
  }
  EXPECT_TRUE(pointed);
}

TEST(ValidateConfig, ReadsAScriptWithoutRunningIt) {
  v1::ValidateConfigRequest request;
  request.mutable_target()->set_framework("megatron-lm");
  request.mutable_file()->set_name("pretrain.sh");
  request.mutable_file()->set_text(
      "EP=64\nexport CUDA_DEVICE_MAX_CONNECTIONS=1\ntorchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py \\\n"
      "  --num-layers 4 \\\n  --expert-model-parallel-size $EP --no-such-flag $(touch /tmp/never)\n");
  v1::ValidateConfigResponse response;
  ASSERT_TRUE(TestResolver().ValidateConfig(request, &response).ok());
  EXPECT_FALSE(response.accepted_by_stack());
  bool pointed = false;
  for (const v1::Finding& finding : response.findings()) {
    pointed = pointed || (finding.rule_id() == "mlm.argparse" && finding.location().line() == 5 &&
                          finding.location().input() == "pretrain.sh");
  }
  EXPECT_TRUE(pointed);
}

TEST(ValidateConfig, ReadsEveryFormThatPeopleHave) {
  struct Row {
    const char* target;
    const char* name;
    const char* text;
    const char* format;
    int line;  // where the number of layers is written
  };
  const Row rows[] = {
      {"megatron-lm", "a.yaml", "language_model:\n  num_layers: 7\n", "megatron-lm-yaml", 2},
      {"megatron-lm", "launch.args", "--num-layers\n7\n", "argv", 1},
      {"megatron-bridge", "a.yaml", "model:\n  _target_: x.Y\n  num_layers: 7\n", "bridge-yaml", 3},
      {"megatron-bridge", "o.txt", "# mine\nmodel.num_layers=7\n", "bridge-overrides", 2},
      {"megatron-bridge", "run.sh", "torchrun scripts/training/run_recipe.py --recipe a -tp 1 model.num_layers=7\n",
       "shell", 1},
      {"megatron-bridge", "perf.sh", "python scripts/performance/run_script.py -m a -mr b \\\n --num_layers 7\n",
       "shell", 2},
      {"loongforge", "run.sh", "torchrun train.py --num-layers 7\n", "shell", 1},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    v1::ValidateConfigRequest request;
    request.mutable_target()->set_framework(row.target);
    request.mutable_file()->set_name(row.name);
    request.mutable_file()->set_text(row.text);
    v1::ValidateConfigResponse response;
    ASSERT_TRUE(TestResolver().ValidateConfig(request, &response).ok());
    EXPECT_EQ(response.input_format(), row.format);
    bool found = false;
    for (const v1::ConfigEntry& entry : response.config()) {
      found = found || (entry.name() == "num_layers" && entry.value().int_value() == 7);
    }
    EXPECT_TRUE(found);
    for (const v1::Finding& finding : response.findings()) {
      if (finding.observed_size() == 0 || finding.observed(0).name() != "num_layers") continue;
      EXPECT_EQ(finding.location().line(), row.line) << finding.rule_id();
    }
  }
}

TEST(ValidateConfig, TakesTheCallersWordForTheFormat) {
  v1::ValidateConfigRequest request;
  request.mutable_target()->set_framework("megatron-bridge");
  request.mutable_file()->set_name("notes.txt");
  request.mutable_file()->set_text("  # a\nmodel: {num_layers: 4}\n");
  request.set_input_format("bridge-yaml");
  v1::ValidateConfigResponse response;
  ASSERT_TRUE(TestResolver().ValidateConfig(request, &response).ok());
  EXPECT_EQ(response.input_format(), "bridge-yaml");
  request.set_input_format("megatron-lm-yaml");
  EXPECT_EQ(ViolatedFields(TestResolver().ValidateConfig(request, &response)).count("input_format"), 1U);
  request.mutable_arguments()->add_values("model.num_layers=4");
  request.set_input_format("bridge-yaml");
  EXPECT_EQ(ViolatedFields(TestResolver().ValidateConfig(request, &response)).count("input_format"), 1U);
}

// The GPU is known, the number of them is what the launcher or WORLD_SIZE says.
TEST(ValidateConfig, TakesTheSizeFromTheLaunch) {
  v1::ValidateConfigRequest request;
  request.mutable_target()->set_framework("megatron-lm");
  request.mutable_hardware()->set_gpu("h100-sxm");
  request.mutable_file()->set_name("run.sh");
  const auto grid_fails = [&request](const char* text) {
    request.mutable_file()->set_text(text);
    v1::ValidateConfigResponse response;
    EXPECT_TRUE(TestResolver().ValidateConfig(request, &response).ok());
    return Errors(response.findings()).count("mesh.expert-world-divisible") > 0;
  };
  EXPECT_TRUE(grid_fails("torchrun --nproc-per-node 8 a.py --num-experts 16 --expert-model-parallel-size 16\n"));
  EXPECT_FALSE(grid_fails("torchrun --nproc-per-node 16 a.py --num-experts 16 --expert-model-parallel-size 16\n"));
  EXPECT_TRUE(grid_fails("export WORLD_SIZE=8\npython a.py --num-experts 16 --expert-model-parallel-size 16\n"));
  // A batch script, without and with a size in front of the program.
  EXPECT_TRUE(
      grid_fails("#SBATCH -N 1 --gpus-per-node=8\n"
                 "python a.py --num-experts 16 --expert-model-parallel-size 16\n"));
  EXPECT_FALSE(
      grid_fails("#SBATCH -N 2 --gpus-per-node=8\n"
                 "python a.py --num-experts 16 --expert-model-parallel-size 16\n"));
  EXPECT_TRUE(
      grid_fails("#SBATCH --nodes=3\ntorchrun --nproc-per-node 8 --nnodes $SLURM_NNODES a.py "
                 "--num-experts 16 --expert-model-parallel-size 16\n"));
}

TEST(ValidateConfig, NeedsAConfig) {
  v1::ValidateConfigRequest request;
  request.mutable_target()->set_framework("megatron-lm");
  v1::ValidateConfigResponse response;
  EXPECT_EQ(ViolatedFields(TestResolver().ValidateConfig(request, &response)).count("config"), 1U);
}

// ---- what validate knows beyond the launch's own words

v1::ValidateConfigRequest LoongForgeLaunch(std::initializer_list<const char*> words) {
  v1::ValidateConfigRequest request;
  request.mutable_target()->set_framework("loongforge");
  for (const char* word : words) request.mutable_arguments()->add_values(word);
  return request;
}

const v1::ConfigEntry* EntryOf(const v1::ValidateConfigResponse& response, const std::string& name) {
  for (const v1::ConfigEntry& entry : response.config()) {
    if (entry.name() == name) return &entry;
  }
  return nullptr;
}

TEST(ValidateConfig, TakesTheArchitectureOfANamedModel) {
  const auto request = LoongForgeLaunch({"--model-name", "qwen3-30b-a3b", "--num-layers", "12", "--hidden-size", "2048",
                                         "--micro-batch-size", "1", "--seq-length", "4096"});
  v1::ValidateConfigResponse response;
  ASSERT_TRUE(TestResolver().ValidateConfig(request, &response).ok());
  ASSERT_NE(EntryOf(response, "num_moe_experts"), nullptr);
  EXPECT_EQ(EntryOf(response, "num_moe_experts")->value().int_value(), 128);
  EXPECT_EQ(EntryOf(response, "num_layers")->value().int_value(), 48);
  int overridden = 0;
  for (const v1::Finding& finding : response.findings()) overridden += finding.rule_id() == "lf.yaml-overrides-args";
  EXPECT_EQ(overridden, 1) << "num_layers alone differs";
}

TEST(ValidateConfig, WeighsAFinishedConfiguration) {
  v1::ValidateConfigRequest request;
  request.mutable_target()->set_framework("megatron-lm");
  request.mutable_hardware()->set_gpu("h100-sxm");
  request.mutable_hardware()->set_gpu_count(8);
  for (const char* word : {"--num-layers",
                           "80",
                           "--hidden-size",
                           "8192",
                           "--ffn-hidden-size",
                           "28672",
                           "--swiglu",
                           "--num-attention-heads",
                           "64",
                           "--group-query-attention",
                           "--num-query-groups",
                           "8",
                           "--seq-length",
                           "8192",
                           "--max-position-embeddings",
                           "8192",
                           "--vocab-size",
                           "128256",
                           "--disable-bias-linear",
                           "--micro-batch-size",
                           "1",
                           "--global-batch-size",
                           "8",
                           "--bf16",
                           "--use-distributed-optimizer"}) {
    request.mutable_arguments()->add_values(word);
  }
  v1::ValidateConfigResponse response;
  ASSERT_TRUE(TestResolver().ValidateConfig(request, &response).ok());
  ASSERT_TRUE(response.has_estimate());
  EXPECT_EQ(response.estimate().fit(), v1::FIT_VERDICT_DOES_NOT_FIT) << "70 billion parameters on 8 GPUs of 80 GiB";
  EXPECT_FALSE(response.will_run());
  // Without the vocabulary nothing is said of memory.
  request.mutable_arguments()->mutable_values()->DeleteSubrange(16, 2);
  v1::ValidateConfigResponse unknown;
  ASSERT_TRUE(TestResolver().ValidateConfig(request, &unknown).ok());
  EXPECT_FALSE(unknown.has_estimate());
  EXPECT_NE(unknown.not_judged_size(), 0);
}

}  // namespace
}  // namespace flightplan
